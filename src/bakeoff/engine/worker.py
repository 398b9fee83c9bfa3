"""What runs first in a worker process: it marks what it starts, and does not outlive the process that started it."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import anyio

from bakeoff.engine.proctable import environment, process_table, send_signal

Result = TypeVar("Result")

CALL_MARK = "BAKEOFF_CALL"
PERIOD = 0.2
"""Seconds between two looks of a worker at whether its parent lives."""
PATIENCE = 2.0
"""Seconds spent on ending what a cancelled call started."""

_numbers = itertools.count()
_guard: list[threading.Thread] = []


def marks(token: str | None) -> dict[str, str]:
    """What the environment of everything started by one call says, with the run's token where it has one."""
    own = {CALL_MARK: f"{os.getpid()}-{next(_numbers)}-{time.time_ns()}"}
    return own if token is None else {**own, "BAKEOFF_RUN": token}


def in_worker(parent: int, environ: Mapping[str, str], function: Callable[..., Result], *args: object) -> Result:
    """`function(*args)`, in a worker process of `parent`; processes it starts have `environ` in their environment."""
    os.environ.pop("BAKEOFF_RUN", None)
    os.environ.update(environ)
    if not _guard:
        try:
            os.setsid()
        except PermissionError:
            pass  # it leads its session already
        # A thread and not the system's parent-death signal: that one goes by the thread that started the worker,
        # and leaves the worker's own children alone.
        _guard.append(threading.Thread(target=_watch, args=(parent,), name="bakeoff-guard", daemon=True))
        _guard[0].start()
    return function(*args)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PERIOD)
    mark = os.environ.get(CALL_MARK, "")
    end = time.monotonic() + PATIENCE
    while kill_marked(mark) and time.monotonic() < end:
        time.sleep(0.002)
    os.killpg(os.getpid(), signal.SIGKILL)


async def end_marked(mark: str) -> None:
    """Kill what a call's processes have left, and wait until it is gone, at most `PATIENCE` seconds."""
    with anyio.move_on_after(PATIENCE, shield=True):
        while kill_marked(mark):  # noqa: ASYNC110  (nobody tells of the end of processes that are not ours)
            await anyio.sleep(0.002)


def kill_marked(mark: str) -> int:
    """Kill every process that was started under the mark; how many there were. None are seen without /proc."""
    needle = f"\0{CALL_MARK}={mark}\0".encode()
    found = [pid for pid in process_table() if needle in environment(pid)]
    for pid in found:
        send_signal(pid, signal.SIGKILL)
    return len(found)
