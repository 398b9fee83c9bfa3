"""Leaves of the Python API that call the run they belong to: while they wait for it they hold no lease."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar

from bakeoff.engine.lanes import LEAVES
from bakeoff.engine.run import Run

CURRENT: ContextVar[HeldLeaf | None] = ContextVar("bakeoff_leaf", default=None)
"""The leaf that the current task works in."""


class HeldLeaf:
    """A leaf at work, with what it holds.

    Args:
        run: whose leaf it is.
        lanes: lanes that it holds besides `leaves`.
        amounts: what it has reserved of the budget.
    """

    __slots__ = ("amounts", "held", "lease", "open", "parent", "run", "waits")

    def __init__(self, run: Run, lanes: tuple[str, ...], amounts: Mapping[str, float]) -> None:
        self.run = run
        self.lease = tuple(dict.fromkeys((LEAVES, *lanes)))
        self.amounts = amounts
        self.parent = CURRENT.get()
        self.open = True
        self.held = True
        self.waits = 0

    def rest(self) -> None:
        """It begins to wait for leaves below it."""
        self.waits += 1
        if self.held:
            self._let_go()

    async def wake(self) -> None:
        """It has what it waited for, and takes its lease again before it goes on.

        Cancelled, it holds the lease at once, beyond the bound if need be: it is about to end.
        """
        self.waits -= 1
        if not self.open or self.held or self.waits:
            return
        try:
            await self.run.lanes.acquire(self.lease)
        except BaseException:
            if self.open and not self.held and not self.waits:
                self.run.lanes.retake(self.lease)
                self._hold()
            raise
        if not self.open or self.held or self.waits:
            self.run.lanes.release(self.lease)
        else:
            self._hold()

    def end(self) -> None:
        """Its work is over; whoever gave it the lease takes it back now."""
        if not self.held:
            self.run.lanes.retake(self.lease)
            self._hold()
        self.open = False

    def _hold(self) -> None:
        self.held = True
        self.run.budget.count(self.amounts, -1)

    def _let_go(self) -> None:
        self.held = False
        self.run.lanes.release(self.lease)
        # It will not get cheaper for waiting: those below must not wait for its reservation.
        self.run.budget.count(self.amounts, 1)


@asynccontextmanager
async def waiting(run: Run) -> AsyncIterator[None]:
    """While it is open, the leaf of `run` in which this is called, if any, holds no lease."""
    leaf = CURRENT.get()
    while leaf is not None and (leaf.run is not run or not leaf.open):
        leaf = leaf.parent
    if leaf is None:
        yield
        return
    leaf.rest()
    try:
        yield
    finally:
        await leaf.wake()
