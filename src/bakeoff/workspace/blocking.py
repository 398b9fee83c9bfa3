"""Blocking work beside the event loop: in a thread, whose git is killed when the work is cancelled."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from bakeoff.engine.killing import current_kills

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


class StoppedError(Exception):
    """The work was stopped from the event loop: it was cancelled, or all is to end at once."""


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a group, and what it started there: that may hold its pipes open for ever."""
    if process.returncode is None:  # else its number may be another's
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


class Stop:
    """Tells a thread to stop, and kills the process groups that it waits for."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def ask(self) -> None:
        """Stop soon."""
        with self._lock:
            self._asked.set()
            for process in self._running:
                kill_group(process)

    def check(self, seconds: float = 0) -> None:
        """Wait so long for being asked to stop.

        Raises:
            StoppedError: it was asked.
        """
        if self._asked.wait(seconds) if seconds else self._asked.is_set():
            raise StoppedError

    @contextmanager
    def killing(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """While inside, stopping kills `process`, which leads a group, and that."""
        with self._lock:
            self._running.add(process)
            if self._asked.is_set():
                kill_group(process)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)
        self.check()


_STOP: ContextVar[Stop | None] = ContextVar("stop", default=None)


def current_stop() -> Stop:
    """The stop of the thread's present work; outside of `in_thread` one that nobody asks."""
    return _STOP.get() or Stop()


async def in_thread(
    function: Callable[Parameters, Result], *args: Parameters.args, **more: Parameters.kwargs
) -> Result:
    """The result of a plain function, computed in a thread.

    Cancelled, the git program that it waits for is killed, and this returns when the thread has ended: nothing goes
    on behind the caller's back. Whatever the function had already made is its own to keep track of.

    Passes on StoppedError: the session is to end at once, and this was shielded from cancellation.
    """
    stop = Stop()
    outcome: list[Any] = []

    def work() -> None:
        _STOP.set(stop)  # the thread has a copy of this task's context
        try:
            outcome.extend((None, function(*args, **more)))
        except BaseException as failure:
            outcome.append(failure)

    async def watch() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            if not outcome:
                stop.ask()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        with current_kills().calling(stop.ask):
            await anyio.to_thread.run_sync(work)
        tasks.cancel_scope.cancel()
    if isinstance(outcome[0], StoppedError):
        await anyio.lowlevel.checkpoint()
    if outcome[0] is not None:
        raise outcome[0]
    result: Result = outcome[1]
    return result
