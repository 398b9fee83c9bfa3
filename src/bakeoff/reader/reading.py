"""Reading untrusted bytes in a process that can be killed, with limits on their number, on memory and on time.

What others wrote can hold an interpreter for hours, take all its memory or overflow its stack. Here that ends a reader
process and is an error of the one who asked, about that one thing. Readers are started on need, kept for the next who
asks, and end when this process does.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from bakeoff.process.command import SpawnError
from bakeoff.reader.worker import ANSWER

PROGRAM = str(Path(__file__).with_name("worker.py"))
ROOT = str(Path(__file__).parents[2])
READERS = 4
"""Most readers of one event loop at once, and most that are kept."""
SECONDS = 10.0
"""Seconds of processor time that reading one thing may take, unless the caller says otherwise."""
MEMORY = 1 << 30
"""Bytes that it may take, likewise."""
_PIECE = 1 << 18
"""Bytes of a file that are on their way to a reader at once."""
Data = bytes | BinaryIO
_ENDING = ("timeout", "died", "MemoryError")
"""Kinds of failure after which a reader is not asked again."""
ENDING = 1.0
"""Seconds in which an idle reader ends itself."""

_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH")
"""Variables that a Python may need to start; a reader needs nothing else."""
_SHORT = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""Errors for want of something that there may be enough of at another time."""

_idle: list[_Reader] = []
_limits: RunVar[anyio.CapacityLimiter] = RunVar("bakeoff_readers")


class UnreadError(Exception):
    """Something could not be read; the text says why, as in "it is nested too deeply".

    Attributes:
        kind: the name of the exception that was raised, `timeout`, or `died`.
    """

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class _ShrunkError(Exception):
    """A file has fewer bytes than were announced."""


def _pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    at = 0
    while at < size:
        piece = os.pread(file.fileno(), min(_PIECE, size - at), at)
        if not piece:
            raise _ShrunkError
        at += len(piece)
        yield piece


class _Reader:
    """A reader process: one job in, one answer out.

    Raises:
        SpawnError: it cannot be started.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-B", PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _VARIABLES if name in os.environ},
                cwd="/",
                # Signals of a terminal are not for it. The session stays: children in others are taken for what a dead
                # supervisor left.
                process_group=0,
            )
        except OSError as failure:
            number = failure.errno or 0
            raise SpawnError(f"no reader process: {failure.strerror}", number, number in _SHORT) from failure
        self._head = json.dumps([os.path.abspath(path) for path in (*sys.path, ROOT) if path]).encode() + b"\n"

    def ask(self, job: dict[str, Any], data: Data) -> bytes:
        """The answer to a job, a line; cut off when the reader ended first, also because a file has shrunk."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        size = len(data) if isinstance(data, bytes) else os.fstat(data.fileno()).st_size
        line = json.dumps({**job, "size": size}).encode() + b"\n"
        try:
            for piece in chain((self._head, line), (data,) if isinstance(data, bytes) else _pieces(data, size)):
                self.process.stdin.write(piece)
            self.process.stdin.flush()
        except BrokenPipeError:
            return b""
        except _ShrunkError:
            self.kill()
            return b""
        self._head = b""
        return self.process.stdout.readline(ANSWER + (1 << 16))

    def kill(self) -> None:
        """End it; whoever waits for its answer gets none."""
        self.process.kill()

    def close(self) -> int:
        """End it, let go of its pipes and return its exit status; nobody may be asking it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):  # a job was still in the buffer
            self.process.stdin.close()  # an idle one ends now
        try:
            status = self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.process.stdout.close()
        return status


async def read(
    function: Callable[..., Any], data: Data, *args: Any, seconds: float = SECONDS, memory: int = MEMORY
) -> Any:
    """Result of `function(data, *args)`, computed in a reader process.

    Cancelled, the reader is killed.

    Args:
        function: of a module's top level, in a module of ours that imports little; it returns JSON.
        data: what somebody else wrote; a file is never in this process's memory as a whole, and is not to be closed
            meanwhile.
        args: what it needs besides; JSON.
        seconds: processor time that it may take.
        memory: bytes that it may take.

    Passes on UnreadError: `function` raised something, or took too much time, memory or depth. SpawnError: no process
    can be had.
    """
    limit = _limits.get(None)
    if limit is None:
        limit = anyio.CapacityLimiter(READERS)
        _limits.set(limit)
    async with limit, holding() as ask:
        return await ask(function, data, *args, seconds=seconds, memory=memory)


@asynccontextmanager
async def holding() -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """A reader process to itself; asked as by `read`, it may keep what it needs for the next question.

    Cancelled while it is asked, the reader is killed.

    Raises:
        UnreadError: as for `read`; then it is not to be asked again.
    """
    reader = _take()
    good = False

    async def ask(
        function: Callable[..., Any], data: Data, *args: Any, seconds: float = SECONDS, memory: int = MEMORY
    ) -> Any:
        nonlocal good
        good = False
        job = _job(function, args, seconds, memory)
        answer = await anyio.to_thread.run_sync(
            reader.ask, job, data, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
        )
        with anyio.CancelScope(shield=True):  # or nobody would have what it answered
            found = await anyio.to_thread.run_sync(_understood, reader, answer, seconds)
        good = True
        return found

    try:
        yield ask
    except UnreadError as failure:
        good = failure.kind not in _ENDING
        raise
    finally:
        if good:
            _give_back(reader)
        else:
            reader.kill()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(reader.close)


def read_here(
    function: Callable[..., Any], data: Data, *args: Any, seconds: float = SECONDS, memory: int = MEMORY
) -> Any:
    """The same for those who are in a thread; it returns when the reader has answered or is ended.

    Raises:
        UnreadError: as for `read`.
    """
    reader = _take()
    try:
        answer = reader.ask(_job(function, args, seconds, memory), data)
    except BaseException:
        reader.kill()
        reader.close()
        raise
    try:
        found = _understood(reader, answer, seconds)
    except UnreadError as failure:
        if failure.kind in _ENDING:
            reader.close()
        else:
            _give_back(reader)
        raise
    _give_back(reader)
    return found


def _job(function: Callable[..., Any], args: tuple[Any, ...], seconds: float, memory: int) -> dict[str, Any]:
    call = f"{function.__module__}:{function.__qualname__}"
    return {"call": call, "args": args, "seconds": seconds, "memory": memory}


def _understood(reader: _Reader, answer: bytes, seconds: float) -> Any:
    """The reader's answer.

    Raises:
        UnreadError: see `read`.
    """
    if not answer.endswith(b"\n"):
        number = -reader.close()
        if number in (signal.SIGPROF, signal.SIGALRM):
            raise UnreadError("timeout", f"not done within {seconds:g} s")
        raise UnreadError("died", f"reading it ended its reader (exit status {-number})")
    found = json.loads(answer)
    if "raised" in found:
        raise UnreadError(found["raised"], found["said"] or found["raised"])
    return found["answer"]


def _give_back(reader: _Reader) -> None:
    """Keep it for the next who asks, unless there are enough."""
    if len(_idle) < READERS:
        _idle.append(reader)
    else:
        reader.close()


def _take() -> _Reader:
    """A reader of this process, not of the one it was forked from, that still lives."""
    while True:
        try:
            reader = _idle.pop()
        except IndexError:
            return _Reader()
        if reader.owner == os.getpid():
            if reader.process.poll() is None:
                return reader
            reader.close()


@atexit.register
def end_idle() -> None:
    """End the readers that nobody asks now."""
    while _idle:
        reader = _idle.pop()
        if reader.owner == os.getpid():
            reader.close()
