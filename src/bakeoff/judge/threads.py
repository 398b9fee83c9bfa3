"""Plain functions beside the event loop: in threads, few enough of which burn CPU that the loop keeps its pace.

Every thread that computes holds the interpreter for 5 ms at a time, and the loop waits for all of them. So at most
`BURNING` threads compute at once; threads that sleep or wait for the network do not count.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from bakeoff.engine.failures import is_cancel

Result = TypeVar("Result")

BURNING = 2
THREADS = 64
LOOK = 0.002
"""Seconds between two looks at who computes, while somebody waits to begin."""


class _Job:
    """A function in a thread. `clock` reads the CPU time of the thread, where the system has such clocks."""

    __slots__ = ("begun", "burns", "clock", "ended", "seen")

    def __init__(self) -> None:
        self.clock: int | None = None
        self.seen = 0.0
        self.burns = True  # until it is known to wait
        self.begun = self.ended = False

    def begin(self) -> None:
        self.begun = True
        clock = getattr(time, "pthread_getcpuclockid", None)
        if clock is not None:
            found = clock(threading.get_ident())
            self.seen = time.clock_gettime(found)
            self.clock = found

    def look(self, passed: float) -> None:
        """Find out whether it computed in the `passed` seconds since the last look."""
        if self.ended:
            self.burns = False
        elif self.clock is not None:
            now = time.clock_gettime(self.clock)
            self.burns = now - self.seen > passed / 4
            self.seen = now


class _Threads:
    """The threads of one event loop."""

    def __init__(self) -> None:
        self.limiter = anyio.CapacityLimiter(THREADS)
        self.jobs: set[_Job] = set()
        self.turn = anyio.Lock()
        self.ended = anyio.Event()

    async def admit(self) -> _Job:
        """Wait, in order of arrival, until one more thread may begin."""
        async with self.turn:
            while sum(job.burns for job in self.jobs) >= BURNING:
                since = time.monotonic()
                with anyio.move_on_after(LOOK):
                    await self.ended.wait()
                if not self.ended.is_set():
                    passed = time.monotonic() - since
                    for job in self.jobs:
                        job.look(passed)
                    self.jobs -= {job for job in self.jobs if job.ended}
            job = _Job()
            self.jobs.add(job)
            return job

    def end(self, job: _Job) -> None:
        self.jobs.discard(job)
        self.ended.set()
        self.ended = anyio.Event()


_threads: RunVar[_Threads] = RunVar("bakeoff_check_threads")


async def beside_loop(function: Callable[..., Result], *args: Any, left: Callable[[], None] | None = None) -> Result:
    """The result of `function(*args)`, called in a thread; what it raises is raised.

    Nothing can stop a thread: cancelled, this returns at once, the thread goes on, and `left` is called.
    """
    threads = _threads.get(None)
    if threads is None:
        threads = _Threads()
        _threads.set(threads)
    job = await threads.admit()
    raised: list[BaseException] = []

    def body() -> Any:
        job.begin()
        try:
            return function(*args)
        except Exception:
            raise
        except BaseException as failure:  # futures cannot carry what would end a coroutine
            raised.append(failure)
            return None
        finally:
            job.ended = True

    try:
        result = await anyio.to_thread.run_sync(body, abandon_on_cancel=True, limiter=threads.limiter)
    except anyio.get_cancelled_exc_class() as failure:
        if job.begun and not job.ended:  # it goes on, and counts for as long as it computes
            if left is not None and is_cancel(failure):
                left()
        else:
            threads.end(job)
        raise
    except BaseException:
        threads.end(job)
        raise
    threads.end(job)
    if raised:
        raise RuntimeError(f"the function raised {raised[0]!r}") from raised[0]
    return result
