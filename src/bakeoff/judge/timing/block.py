"""One block of measuring: in a thread, alone on the machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from bakeoff.judge.timing.bench_lock import BenchLock

Result = TypeVar("Result")


async def in_block(lock: BenchLock, work: Callable[[], Result], kill: Callable[[], None]) -> Result:
    """What `work` gives, which blocks for some two seconds at most.

    Cancelled, `kill` is called, which must make `work` end, and this returns when it has.
    """
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
