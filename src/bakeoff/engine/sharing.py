"""Contexts that tasks share: opened for the first who needs one, and closed when nobody does any more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Generic, TypeVar

import anyio

from bakeoff.engine.failures import WorkGroup, work_group
from bakeoff.errors import BakeoffError

Value = TypeVar("Value")


class _Entry:
    __slots__ = ("failure", "ready", "unused", "users", "value")

    def __init__(self) -> None:
        self.ready, self.unused = anyio.Event(), anyio.Event()
        self.users = 0
        self.value: Any = None
        self.failure: Exception | None = None


class Shared(Generic[Value]):
    """Open contexts by key; made by `sharing`. Each is entered and left in a task of its own.

    Args:
        tasks: where those tasks live.
        idle: how many that nobody uses are kept open for the next one, the latest used first.
    """

    def __init__(self, tasks: WorkGroup, idle: int) -> None:
        self._tasks, self._idle = tasks, idle
        self._entries: dict[Hashable, _Entry] = {}

    @asynccontextmanager
    async def using(
        self, key: Hashable, make: Callable[[], AbstractAsyncContextManager[Value]]
    ) -> AsyncIterator[Value]:
        """Shared resource that stands under `key`, opened by `make` where it is not open.

        Whoever is cancelled while it is being opened leaves it to the others. Passes on whatever opening it raises,
        to all who wait for it; the next one tries again.
        """
        entry = self._entries.pop(key, None)
        if entry is None:
            entry = _Entry()
            self._tasks.start(self._keep, key, entry, make)
        self._entries[key] = entry  # the latest used stands last
        entry.users += 1
        try:
            await entry.ready.wait()
            if entry.failure is not None:
                raise entry.failure
            yield entry.value
        finally:
            entry.users -= 1
            self._close_idle()

    async def _keep(self, key: Hashable, entry: _Entry, make: Callable[[], AbstractAsyncContextManager[Value]]) -> None:
        try:
            async with make() as entry.value:
                entry.ready.set()
                # Also where everything is cancelled: whoever uses it has to leave it first.
                with anyio.CancelScope(shield=True):
                    await entry.unused.wait()
        except Exception as failure:
            if entry.ready.is_set():
                raise
            entry.failure = failure
        finally:
            if not entry.ready.is_set():
                entry.failure = entry.failure or BakeoffError("it was cancelled while it was being opened")
                entry.ready.set()
            self._forget(key, entry)

    def _close_idle(self) -> None:
        idle = [key for key, entry in self._entries.items() if not entry.users]
        for key in idle[: max(0, len(idle) - self._idle)]:
            entry = self._entries[key]
            self._forget(key, entry)
            entry.unused.set()

    def _forget(self, key: Hashable, entry: _Entry) -> None:
        if self._entries.get(key) is entry:
            del self._entries[key]

    def close(self) -> None:
        """Let all be closed; nobody may be using any."""
        for entry in self._entries.values():
            entry.unused.set()


@asynccontextmanager
async def sharing(idle: int = 0) -> AsyncIterator[Shared[Any]]:
    """Share contexts while the block is open; all are closed when it is left, also when it is cancelled."""
    async with work_group() as tasks:
        shared: Shared[Any] = Shared(tasks, idle)
        try:
            yield shared
        finally:
            shared.close()
