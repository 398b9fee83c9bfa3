"""Blocks of measuring: in a thread, alone on the machine. Waiting for the machine and starting is no measuring."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread

from bakeoff.judge.timing.bench_lock import BenchLock

Result = TypeVar("Result")

LOST = 5.0
"""Times the seconds that loading contenders, and others that have the processor, may take besides."""


@dataclass(slots=True)
class Blocks:
    """The blocks of one race, and the seconds it has for them.

    Attributes:
        lock: of this machine.
        seconds: of measuring, from when it was made or `begin` was called.
        kill: makes work under way end.
    """

    lock: BenchLock
    seconds: float
    kill: Callable[[], None]
    _since: float = field(default_factory=time.monotonic)
    _apart: float = 0.0
    _lost: float = 0.0

    def begin(self) -> None:
        """Count from now on."""
        self._since, self._apart, self._lost = time.monotonic(), 0.0, 0.0

    def lose(self, seconds: float) -> None:
        """Count seconds apart in which nothing could be measured, up to `LOST` times those that there are."""
        more = max(0.0, min(seconds, LOST * self.seconds - self._lost))
        self._lost += more
        self._apart += more

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Count what is done inside apart."""
        since = time.monotonic()
        try:
            yield
        finally:
            self._apart += time.monotonic() - since

    def until(self, share: float = 1.0) -> float:
        """End of a share of the seconds, by `time.monotonic`; later with each wait for others, and start."""
        return self._since + share * self.seconds + self._apart

    async def block(self, work: Callable[[], Result]) -> Result:
        """Result of `work`, which blocks for some two seconds at most.

        Cancelled, `kill` is called, which must make `work` end, and this returns when it has.
        """
        asked = time.monotonic()

        def begun() -> Result:
            self._apart += time.monotonic() - asked
            return work()

        return await _in_block(self.lock, begun, self.kill)


async def _in_block(lock: BenchLock, work: Callable[[], Result], kill: Callable[[], None]) -> Result:
    begun, ended = threading.Event(), threading.Event()

    def body() -> Result:
        begun.set()
        try:
            return work()
        finally:
            ended.set()

    async with lock.measuring():
        try:
            return await anyio.to_thread.run_sync(body, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
        except anyio.get_cancelled_exc_class():
            kill()
            if begun.is_set():  # one that begins later finds everything ended
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(ended.wait, limiter=anyio.CapacityLimiter(1))
            raise
