"""Plain functions beside the event loop: in threads, few enough of which burn CPU that the loop keeps its pace.

Every thread that computes holds the interpreter for a turn, and the loop waits for all of them. So turns are made
short while there are such threads, and at most `BURNING` of them compute at once; threads that sleep or wait for the
network do not count. One that only waits for its turn looks asleep, too: so a thread counts as waiting when it used no
CPU for `SURE` seconds, or when none of them used any.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from bakeoff.engine.failures import is_cancel

Result = TypeVar("Result")

BURNING = 2
THREADS = 64
LOOK = 0.002
"""Seconds between two looks at who computes, while somebody waits to begin."""
TURN = 0.0005
"""Seconds of a thread's turn at the interpreter (5 ms otherwise)."""
SURE = 0.03
IDLE = 0.1
"""Share of a core below which threads are waiting."""


class _Job:
    """A function in a thread. `clock` reads the CPU time of the thread, where the system has such clocks."""

    __slots__ = ("begun", "burned", "burns", "clock", "ended", "seen")

    def __init__(self) -> None:
        self.clock: int | None = None
        self.seen = 0.0
        self.burned = time.monotonic()  # when it was last seen to compute
        self.burns = True  # until it is known to wait
        self.begun = self.ended = False

    def begin(self) -> None:
        self.begun = True
        clock = getattr(time, "pthread_getcpuclockid", None)
        if clock is not None:
            found = clock(threading.get_ident())
            self.seen = time.clock_gettime(found)
            self.clock = found

    def used(self) -> float:
        """Seconds of CPU since the last look; without end where nobody knows."""
        if self.ended:
            return 0.0
        if self.clock is None:
            return float("inf")
        before, self.seen = self.seen, time.clock_gettime(self.clock)
        return self.seen - before


class _Threads:
    """The threads of one event loop."""

    def __init__(self) -> None:
        self.limiter = anyio.CapacityLimiter(THREADS)
        self.jobs: set[_Job] = set()
        self.turn = anyio.Lock()
        self.quiet = 0  # looks in a row at which nobody computed
        self.ended = anyio.Event()

    async def admit(self) -> _Job:
        """Wait, in order of arrival, until one more thread may begin."""
        async with self.turn:
            while sum(job.burns for job in self.jobs) >= BURNING:
                since = time.monotonic()
                with anyio.move_on_after(LOOK):
                    await self.ended.wait()
                self.look(since)
            job = _Job()
            self.quiet = 0
            self.jobs.add(job)
            return job

    def look(self, since: float) -> None:
        """Find out who waits, by the CPU used since then."""
        now = time.monotonic()
        passed = now - since
        if passed < LOOK:
            return
        used = {job: job.used() for job in self.jobs}
        # Twice running, and in time: one that holds the interpreter while the machine does something else looks
        # asleep, and the loop is late.
        quiet = sum(used.values()) < IDLE * passed and passed < 3 * LOOK
        self.quiet = self.quiet + 1 if quiet else 0
        asleep = self.quiet > 1
        for job, seconds in used.items():
            if seconds >= IDLE * passed:
                job.burned = now
            job.burns = not asleep and now - job.burned < SURE
        self.jobs -= {job for job in self.jobs if job.ended}

    def end(self, job: _Job) -> None:
        self.jobs.discard(job)
        self.ended.set()
        self.ended = anyio.Event()


_running = [0, 0.0]  # threads in all loops, and the length of a turn before the first of them
_lock = threading.Lock()


@contextmanager
def _short_turns() -> Iterator[None]:
    """While any thread is inside, turns at the interpreter are short."""
    with _lock:
        if _running[0] == 0:
            _running[1] = sys.getswitchinterval()
            sys.setswitchinterval(min(TURN, _running[1]))
        _running[0] += 1
    try:
        yield
    finally:
        with _lock:
            _running[0] -= 1
            if _running[0] == 0:
                sys.setswitchinterval(_running[1])


_threads: RunVar[_Threads] = RunVar("bakeoff_check_threads")


async def beside_loop(function: Callable[..., Result], *args: Any, left: Callable[[], None] | None = None) -> Result:
    """The result of `function(*args)`, called in a thread; what it raises is raised.

    Nothing can stop a thread: cancelled, this returns at once, the thread goes on, and `left` is called.

    Raises:
        RuntimeError: the function raised what would end the program (SystemExit and its like).
    """
    threads = _threads.get(None)
    if threads is None:
        threads = _Threads()
        _threads.set(threads)
    job = await threads.admit()
    raised: list[BaseException] = []

    def body() -> Result | None:
        try:
            with _short_turns():
                job.begin()
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
    return cast(Result, result)
