"""Checks in a process that the kernel ends when their time is up: regular expressions, JSON Schemas.

A catastrophic expression holds the interpreter for as long as it runs; in a thread it would stop the event loop.
Workers are started on need, kept for the next check, and end when this process does.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

_PROGRAM = str(Path(__file__).with_name("killable_worker.py"))
WORKERS = 4
"""Most workers of one event loop at once."""
ENDING = 1.0
"""Seconds in which an idle worker ends itself."""

_idle: list[_Worker] = []
_limits: RunVar[anyio.CapacityLimiter] = RunVar("bakeoff_killable")


class _Worker:
    """A worker process: one job in, one answer out, each a line of JSON."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            [sys.executable, "-I", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )

    def ask(self, line: bytes) -> bytes:
        """The answer to a job; empty when the worker ended first."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError:
            return b""
        return self.process.stdout.readline()

    def kill(self) -> None:
        """End it; whoever waits for its answer gets none."""
        self.process.kill()

    def close(self) -> None:
        """End it and let go of its pipes; nobody may be asking it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.close()  # an idle one ends now
        except BrokenPipeError:  # a job was still in the buffer
            pass
        try:
            self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


async def killable(job: dict[str, Any], timeout: float) -> dict[str, Any]:
    """What a worker answers to a job (see `killable_worker`).

    Cancelled, the worker is killed.

    Raises:
        TimeoutError: `timeout` seconds were not enough; the worker is gone.
    """
    limit = _limits.get(None)
    if limit is None:
        limit = anyio.CapacityLimiter(WORKERS)
        _limits.set(limit)
    line = json.dumps({**job, "timeout": timeout}).encode() + b"\n"
    async with limit:
        worker = _take()
        try:
            answer = await anyio.to_thread.run_sync(
                worker.ask, line, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
            )
        except BaseException:
            worker.kill()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(worker.close)
            raise
    if not answer:
        worker.close()
        raise TimeoutError(f"not done within {timeout:g} s")
    _idle.append(worker)
    found: dict[str, Any] = json.loads(answer)
    return found


def _take() -> _Worker:
    """A worker of this process, not of the one it was forked from, that still lives."""
    while _idle:
        worker = _idle.pop()
        if worker.owner == os.getpid():
            if worker.process.poll() is None:
                return worker
            worker.close()
    return _Worker()


@atexit.register
def _end() -> None:
    for worker in _idle:
        if worker.owner == os.getpid():
            worker.close()
