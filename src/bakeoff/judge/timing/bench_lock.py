"""Bench lock: one measures at a time on this machine, in order of arrival, and nobody else's work beside it.

Everybody who comes takes a ticket: a file with the next number, locked for as long as its owner lives. Whoever has the
lowest live ticket is next, so nobody is passed, and a dead owner, whose lock the kernel lets go, blocks nobody. One who
measures waits at the head until all work has ended; one who works only passes the head. Both are short at it: a block
of measuring takes `BLOCK` seconds, then comes a new ticket.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel

from bakeoff.workspace.repository.cache import cache_root
from bakeoff.workspace.repository.locks import FileLock, is_held, try_lock

LANE = "bench"
"""The lane of whoever measures, in a run."""
BLOCK = 2.0
"""Seconds that one may measure before others get their turn."""
LOOK = 0.005
"""Seconds between two looks at the queue."""


class BenchLock:
    """The right to measure on this machine, among all processes of bakeoff of this user.

    Args:
        folder: where the tickets are; None for the user's cache.
        look: seconds between two looks.
    """

    def __init__(self, folder: Path | None = None, *, look: float = LOOK) -> None:
        self.folder = folder if folder is not None else cache_root() / "bench"
        self.look = look

    @asynccontextmanager
    async def measuring(self) -> AsyncIterator[None]:
        """Have the machine: no other block and no `working` goes on meanwhile. Give it back within `BLOCK` seconds.

        Cancelled while waiting, it leaves the queue.
        """
        ticket = await self._head()
        try:
            work = await self._lock(shared=False)
            try:
                yield
            finally:
                work.release()
        finally:
            ticket.remove()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work that takes processor time, and that measuring must not run beside. Many work at once.

        Cancelled while waiting, it leaves the queue.
        """
        ticket = await self._head()
        try:
            work = await self._lock(shared=True)
        finally:
            ticket.remove()
        try:
            yield
        finally:
            work.release()

    async def _head(self) -> FileLock:
        """Take a ticket and wait until it is the lowest."""
        await anyio.lowlevel.checkpoint()
        ticket = self._draw()
        try:
            while self._waits(ticket):  # noqa: ASYNC110 - others are other processes
                await anyio.sleep(self.look)
        except BaseException:
            ticket.remove()
            raise
        return ticket

    def _draw(self) -> FileLock:
        """A new ticket, higher than all there are; taken between two steps of the event loop, as it is quick."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = max((_number(path) for path in self._tickets()), default=0)
        while True:
            number += 1
            path = self.folder / f"{number:012d}.ticket"
            # Others draw meanwhile: a number that is taken, or that a dead owner left, is passed over.
            if path.exists():
                continue
            lock = try_lock(path)
            if lock is not None:
                return lock

    def _waits(self, ticket: FileLock) -> bool:
        mine = _number(ticket.path)
        for path in self._tickets():
            if _number(path) >= mine:
                continue
            if is_held(path):
                return True
            dead = try_lock(path, create=False)
            if dead is not None:
                dead.remove()
        return False

    async def _lock(self, *, shared: bool) -> FileLock:
        while True:
            lock = try_lock(self.folder / "work", shared=shared)
            if lock is not None:
                return lock
            await anyio.sleep(self.look)

    def _tickets(self) -> list[Path]:
        return sorted(self.folder.glob("*.ticket"))


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0
