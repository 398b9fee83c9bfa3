"""Calls functions in worker processes that can be ended, with all they started: the coordinator's half of `worker.py`.

It is about ending, not about trust: what a worker answers is unpickled here.
"""

from __future__ import annotations

import io
import itertools
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

from bakeoff.api.worker import CALL, ENDED, HEADER, RAISED, RESULT, STATUS, prepare
from bakeoff.errors import BakeoffError, described
from bakeoff.process.attach import start_attached
from bakeoff.process.proctable import environment, kill_trees, process_table

Result = TypeVar("Result")

START = "import sys; sys.path.append(sys.argv.pop()); from bakeoff.api.worker import main; main()"
"""How a worker starts: bakeoff's own directory is last on its path, until it has the coordinator's."""

CALL_MARK = "BAKEOFF_CALL"
"""The variable that marks a worker and what it starts, for when the keeper was killed."""
PATIENCE = 10.0
"""Seconds a keeper gets to end its worker before that is done from here."""
REPORT = 1.0
"""Seconds in which a keeper says how a worker ended that let go of its socket; else the worker lives on."""
AFTERMATH = 2.0
"""Seconds spent on ending what is left of a worker whose keeper was killed."""

_numbers = itertools.count()


class _Lost(Exception):
    """A worker gave no answer, or something that is none."""


class Workers:
    """Worker processes that are reused from call to call, made as they are needed.

    Args:
        token: the run's, for the environment of the workers and what they start (`BAKEOFF_RUN`).
    """

    def __init__(self, token: str | None = None) -> None:
        self._token = token
        self._all: set[_Worker] = set()
        self._idle: list[_Worker] = []
        self._closed = False

    async def call(
        self, function: Callable[..., Result], *args: object, limiter: anyio.CapacityLimiter | None = None
    ) -> Result:
        """The result of `function(*args)`, computed in a worker; function, arguments and result must be picklable.

        Whatever the function raises is raised, with its causes. Cancelled, the worker is killed with all it started,
        and gone when this ends.

        Args:
            function: a plain function that a worker can import.
            args: its arguments.
            limiter: bounds the workers.

        Passes on TypeError: something cannot be pickled or unpickled.
        Passes on RuntimeError: the worker ended before it had a result, or answered nonsense, or could not be started.
        Passes on BakeoffError: a worker fails to import the main module, or `close` was called.
        """
        request = _pickled(function, args)
        await anyio.lowlevel.checkpoint_if_cancelled()
        async with limiter or anyio.CapacityLimiter(1):
            worker = await self._taken()
            answer = await self._asked(worker, request)
            self._idle.append(worker)
        return _outcome(*answer)  # type: ignore[no-any-return]

    async def close(self) -> None:
        """End every worker and all they started; returns when they are gone."""
        self._closed = True
        for worker in self._all:
            worker.let_go()
        for worker in tuple(self._all):
            await self._end(worker)

    async def _taken(self) -> _Worker:
        """A worker that is ready for a call.

        Raises:
            RuntimeError: it could not be started.
            BakeoffError: it failed to import the main module, or all are ended.
        """
        while self._idle:
            worker = self._idle.pop()
            if worker.is_quiet():
                return worker
            await self._end(worker)
        if self._closed:
            raise BakeoffError("the workers of this run are ended")
        try:
            worker = _Worker(self._token)
        except OSError as failure:
            raise RuntimeError(f"no worker process could be started: {failure.strerror}") from failure
        self._all.add(worker)
        main = getattr(sys.modules["__main__"], "__file__", None)
        answer = await self._asked(worker, _pickled(prepare, (sys.path, sys.argv, main)))
        try:
            _outcome(*answer)
        except BaseException as failure:
            await self._end(worker)
            if isinstance(failure, BakeoffError):
                raise failure from None
            raise BakeoffError(
                f"no worker process could be made: it imports the main module, and that failed: {described(failure)}"
            ) from failure
        return worker

    async def _asked(self, worker: _Worker, request: bytes) -> tuple[int, bytes]:
        try:
            return await worker.ask(request)
        except BaseException as failure:
            died = await self._end(worker, REPORT if isinstance(failure, _Lost) else 0)
            if isinstance(failure, _Lost):
                raise RuntimeError(str(failure) or died) from None
            raise

    async def _end(self, worker: _Worker, patience: float = 0) -> str:
        told = await worker.end(patience)
        self._all.discard(worker)
        return told


class _Worker:
    """One worker and its keeper."""

    def __init__(self, token: str | None) -> None:
        self._mark = f"{os.getpid()}-{next(_numbers)}-{time.time_ns()}"
        env = {**os.environ, CALL_MARK: self._mark} | ({} if token is None else {"BAKEOFF_RUN": token})
        # -P: what lies in the working directory must not be taken for a module of Python's own.
        (self._link, self._leash), self._keeper = start_attached(
            START, links=2, flags=["-P"], env=env, stdin=subprocess.DEVNULL
        )
        self._number = 0
        self._ended: anyio.Event | None = None
        self._told = ""

    def is_quiet(self) -> bool:
        """Whether it lives and says nothing, as one without a call should."""
        try:
            self._link.recv(1)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """The kind of its answer to a call, and the pickle.

        Raises:
            _Lost: there will be none.
        """
        self._number += 1
        try:
            await self._send(HEADER.pack(self._number, CALL, len(request)))
            await self._send(request)
            number, kind, length = HEADER.unpack(await self._received(HEADER.size))
            if number != self._number or kind not in (RESULT, RAISED):
                raise _Lost(
                    "the worker process sent something that is no answer, and was killed: "
                    "did the function write to a descriptor that is not its own?"
                )
            return kind, await self._received(length)
        except (OSError, anyio.ClosedResourceError):
            raise _Lost from None

    async def _send(self, data: bytes) -> None:
        with memoryview(data) as rest:
            sent = 0
            while sent < len(rest):
                try:
                    sent += self._link.send(rest[sent:])
                except BlockingIOError:
                    await anyio.wait_writable(self._link)

    async def _received(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            try:
                part = self._link.recv(min(length - len(data), 1 << 20))
            except BlockingIOError:
                await anyio.wait_readable(self._link)
                continue
            if not part:
                raise _Lost
            data += part
        return bytes(data)

    def let_go(self) -> None:
        """Have the keeper end it."""
        try:
            self._leash.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the keeper is gone, or was told before

    async def end(self, patience: float = 0) -> str:
        """End it with all it started, and wait until it is gone; how it ended, if it had done so by itself.

        Args:
            patience: seconds it is given to have ended by itself.
        """
        with anyio.CancelScope(shield=True):
            if self._ended is not None:
                await self._ended.wait()
            else:
                self._ended = anyio.Event()
                self._told = _how(await self._end(patience))
                self._ended.set()
        return self._told

    async def _end(self, patience: float) -> bytes:
        """Last words of the keeper; empty if it was killed."""
        last = bytearray()
        gone = False
        with anyio.move_on_after(patience):
            gone = await self._last_words(last)
        self.let_go()
        with anyio.move_on_after(PATIENCE):
            gone = gone or await self._last_words(last)
        killed = {} if gone else kill_trees({self._keeper.pid})
        while self._keeper.poll() is None:  # noqa: ASYNC110  (it closed its socket by exiting)
            await anyio.sleep(0.001)
        if not last:
            await end_marked(self._mark, killed)
        for socket_ in (self._link, self._leash):
            anyio.notify_closing(socket_)
            socket_.close()
        return bytes(last)

    async def _last_words(self, heard: bytearray) -> bool:
        """Listen to the keeper until it is gone."""
        while True:
            await anyio.wait_readable(self._leash)
            try:
                part = self._leash.recv(64)
            except BlockingIOError:
                continue
            except OSError:
                return True
            if not part:
                return True
            heard += part


def _how(last: bytes) -> str:
    status = STATUS.unpack(last)[0] if last else -signal.SIGKILL
    if status == ENDED:
        return "the worker process closed its socket to the coordinator before it had a result, and was killed"
    if status >= 0:
        return f"the worker process ended before it had a result, with exit status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    why = " (out of memory, or by somebody)" if -status == signal.SIGKILL else ""
    return f"the worker process ended before it had a result: killed by {name}{why}"


def _pickled(function: Callable[..., Any], args: tuple[object, ...]) -> bytes:
    try:
        return pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL)
    except Exception as failure:
        raise TypeError(f"isolate: the item cannot be pickled: {described(failure)}") from failure


class _Unpickler(pickle.Unpickler):  # noqa: S301  (the user's own code wrote it)
    """Finds what a worker knows as part of `__mp_main__` in the main module."""

    def find_class(self, module: str, name: str) -> Any:
        return super().find_class("__main__" if module == "__mp_main__" else module, name)


def _outcome(kind: int, data: bytes) -> Any:
    what = "result" if kind == RESULT else "exception"
    try:
        answer = _Unpickler(io.BytesIO(data)).load()
        if kind == RESULT:
            return answer
        chain, trace = answer
        for failure, cause in itertools.pairwise(chain):
            failure.__cause__ = cause
        chain[0].add_note(f"in the worker process:\n{trace}".rstrip())
    except Exception as failure:
        raise TypeError(f"the worker's {what} cannot be unpickled here: {described(failure)}") from failure
    raise chain[0]


async def end_marked(mark: str, killed: Iterable[int] = ()) -> None:
    """Kill every process that was started under the mark and all below it; none are seen without /proc.

    It waits until these are gone, and those that were killed before, at most `AFTERMATH` seconds.
    """
    needle = f"\0{CALL_MARK}={mark}\0".encode()
    doomed = set(killed)
    with anyio.move_on_after(AFTERMATH, shield=True):
        while True:
            table = process_table()
            found = [pid for pid in table if needle in environment(pid)]
            if not found and doomed.isdisjoint(table):
                return
            doomed.update(kill_trees(found))
            await anyio.sleep(0.002)  # nobody tells of the end of processes that are not ours
