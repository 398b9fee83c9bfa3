"""Bench lock: one measures at a time on this machine, in order of arrival, and nobody else's work beside it.

Everybody who comes takes a ticket: a file with the next number, locked for as long as its owner lives. Whoever has the
lowest live ticket is next, so nobody is passed, and a dead owner, whose lock the kernel lets go, blocks nobody. One who
measures waits at the head until all work has ended; one who works only passes the head. Both are short at it: a block
of measuring takes `BLOCK` seconds, then comes a new ticket. Whoever waits long for another process is told which.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from bakeoff.workspace.repository.cache import cache_root
from bakeoff.workspace.repository.locks import FileLock, facts, is_held, try_lock

TICKET, WORKER = ".ticket", ".worker"
"""Endings of the files of those who wait or measure, and of those whose work goes on."""
LANE = "bench"
"""The lane of whoever measures, in a run."""
BLOCK = 2.0
"""Seconds that one may measure before others get their turn."""
LOOK = 0.005
"""Seconds between two looks at the queue."""
PATIENCE, AGAIN = 10.0, 120.0
"""Seconds of waiting for another process before it is named, and between two times."""


class BenchLock:
    """The right to measure on this machine, among all processes of bakeoff of this user.

    Args:
        folder: where the tickets are; None for the user's cache.
        look: seconds between two looks.
        told: is told whom a long wait is for.
        clock: seconds.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        look: float = LOOK,
        told: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder if folder is not None else cache_root() / "bench"
        self.look = look
        self.told = told
        self.clock = clock
        self._tell_at: float | None = None

    @asynccontextmanager
    async def measuring(self) -> AsyncIterator[None]:
        """Have the machine: no other block and no `working` goes on meanwhile. Give it back within `BLOCK` seconds.

        Cancelled while waiting, it leaves the queue.
        """
        ticket = await self._head("measures")
        try:
            work = await self._lock(shared=False)
            self._tell_at = None
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
        ticket = await self._head("runs tests")
        try:
            work = await self._lock(shared=True)
            self._tell_at = None
            for path in self._files(WORKER):
                _sweep(path)
            sign = self._draw(WORKER, "runs tests")
        finally:
            ticket.remove()
        try:
            yield
        finally:
            sign.remove()
            work.release()

    async def _head(self, does: str) -> FileLock:
        """Take a ticket and wait until it is the lowest."""
        await anyio.lowlevel.checkpoint()
        ticket = self._draw(TICKET, does)
        try:
            while self._waits(ticket):
                self._tell()
                await anyio.sleep(self.look)
        except BaseException:
            ticket.remove()
            raise
        return ticket

    def _draw(self, kind: str, does: str) -> FileLock:
        """A new file, its number higher than all there are; taken between two steps of the event loop: it is quick."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = max((_number(path) for path in self._files(kind)), default=0)
        while True:
            number += 1
            path = self.folder / f"{number:012d}{kind}"
            # Others draw meanwhile: a number that is taken, or that a dead owner left, is passed over.
            if path.exists():
                continue
            lock = try_lock(path)
            if lock is not None:
                lock.write({"does": does, "cwd": os.getcwd()})
                return lock

    def _tell(self) -> None:
        """Name the process that is waited for, now and then."""
        now = self.clock()
        if self._tell_at is None:
            self._tell_at = now + PATIENCE
        if now < self._tell_at:
            return
        self._tell_at = now + AGAIN
        held = (facts(path) for path in (*self._files(TICKET), *self._files(WORKER)) if is_held(path))
        other = next((each for each in held if each.get("pid") not in (None, os.getpid())), None)
        if other is not None:
            self.told(f"measuring waits for another bakeoff on this machine: {_said(other)}")

    def _waits(self, ticket: FileLock) -> bool:
        mine = _number(ticket.path)
        for path in self._files(TICKET):
            if _number(path) >= mine:
                continue
            if is_held(path):
                return True
            _sweep(path)
        return False

    async def _lock(self, *, shared: bool) -> FileLock:
        while True:
            lock = try_lock(self.folder / "work", shared=shared)
            if lock is not None:
                return lock
            self._tell()
            await anyio.sleep(self.look)

    def _files(self, kind: str) -> list[Path]:
        return sorted(self.folder.glob(f"*{kind}"))


def _sweep(path: Path) -> None:
    """Delete the file of a process that died."""
    dead = try_lock(path, create=False)
    if dead is not None:
        dead.remove()


def _said(other: dict[str, Any]) -> str:
    """Description of a process that has the machine."""
    since = other.get("since")
    begun = f" since {time.strftime('%H:%M:%S', time.localtime(since))}" if isinstance(since, int | float) else ""
    return f"process {other['pid']} in {other.get('cwd', 'a folder')} {other.get('does', 'works')}{begun}"


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0
