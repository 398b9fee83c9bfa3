"""What every simulation stands on: replayable scheduling, virtual time, and a monitor that looks between the ticks.

Everything in a simulated program takes a whole number of virtual seconds, so at every half second all that can
happen has happened and the state must be exact.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager

import trio
import trio._core._run as scheduler
import trio.testing

LONGEST = 5000
"""Virtual seconds after which a program counts as hung."""


def run_seeded(seed: int, main: Callable[[], Awaitable[None]]) -> None:
    """Run `main` on trio's mock clock with scheduling that depends on `seed` alone.

    Both switches are private to trio (pinned for that reason): seeding its generator alone does not replay, since
    tasks are otherwise taken from a set in the order of their addresses.
    """
    before = scheduler._ALLOW_DETERMINISTIC_SCHEDULING, scheduler._r.getstate()
    scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True
    scheduler._r.seed(seed)
    try:
        trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    finally:
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = before[0]
        scheduler._r.setstate(before[1])


class Trace(list):
    """What happened, in order; two runs of a seed must give equal traces."""

    def note(self, *what: object) -> None:
        self.append((trio.current_time(), *what))


@asynccontextmanager
async def watched(check: Callable[[], None]):
    """Call `check` at every half second while the context is open; a program that hangs fails here."""

    async def watch() -> None:
        await trio.sleep(0.5)
        for _ in range(LONGEST):
            check()
            await trio.sleep(1)
        raise AssertionError(f"still not done after {LONGEST} virtual seconds")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        yield
        nursery.cancel_scope.cancel()


async def spend(ticks: int) -> None:
    """Pass virtual time; -1 does not even let others run, 0 only that."""
    if ticks > 0:
        await trio.sleep(ticks)
    elif ticks == 0:
        await trio.lowlevel.checkpoint()


async def linger(ticks: int) -> None:
    """Time that a cancelled piece of work takes to clean up."""
    if ticks >= 0:
        with trio.CancelScope(shield=True):
            await spend(ticks)


class Chance(random.Random):
    """A generator with a few words for programs."""

    def likely(self, share: float) -> bool:
        return self.random() < share

    def ticks(self) -> int:
        return self.choice((-1, 0, 0, 1, 1, 2, 3, 5))
