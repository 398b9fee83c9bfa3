"""The control channel of a live run: a socket in its folder, over which other commands answer and cancel."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketStream

from bakeoff.errors import BakeoffError

Handler = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]

_LONGEST = 64 * 1024
"""Bytes of one message; a longer one is refused."""

_ANSWER_TIME = 10.0
"""Seconds that a message and its answer may take."""


@asynccontextmanager
async def control_server(folder: Path, handle: Handler) -> AsyncIterator[None]:
    """Answer messages (one JSON object a line) to the run in `folder` while the context is open."""
    path = folder / "control"
    path.unlink(missing_ok=True)
    raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    ours: os.stat_result | None = None
    try:
        with _short(path) as name:
            raw.bind(name)
        path.chmod(0o600)
        ours = path.lstat()
        raw.listen(128)
        raw.setblocking(False)
        async with anyio.create_task_group() as group:
            group.start_soon(_accept, raw, handle)
            try:
                yield
            finally:
                group.cancel_scope.cancel()
    finally:
        with suppress(OSError):
            # The folder may have been replaced by another run's meanwhile; the open socket pins the number.
            if ours is not None and os.path.samestat(path.lstat(), ours):
                path.unlink()
        raw.close()


async def _accept(raw: socket.socket, handle: Handler) -> None:
    async with anyio.create_task_group() as group:
        while True:
            await anyio.wait_readable(raw)
            try:
                connection, _ = raw.accept()
            except OSError:  # the caller went away, or descriptors are short; the next caller may do better
                await anyio.sleep(0.05)
                continue
            group.start_soon(_serve, connection, handle)


async def _serve(connection: socket.socket, handle: Handler) -> None:
    async with await SocketStream.from_socket(connection) as stream:
        try:
            with anyio.fail_after(_ANSWER_TIME):
                line = await _line(stream)
            # What was asked may end the run, and this task with it: the answer goes out first.
            with anyio.move_on_after(_ANSWER_TIME, shield=True):
                try:
                    reply = await handle(json.loads(line))
                except BakeoffError as refusal:
                    reply = {"error": str(refusal)}
                except (ValueError, TypeError, KeyError, RecursionError) as nonsense:
                    reply = {"error": f"message not understood: {nonsense}"}
                await stream.send(json.dumps(reply).encode() + b"\n")
        except (OSError, anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError):
            pass  # a caller that left needs no answer


async def _line(stream: SocketStream) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < _LONGEST:
        data += await stream.receive()
    return data


def send(folder: Path, message: Mapping[str, Any], timeout: float = 30.0) -> dict[str, Any] | None:
    """Ask the live run in `folder`; None when nobody listens there.

    Raises:
        BakeoffError: the run refused, or did not answer in time.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(timeout)
        try:
            with _short(folder / "control") as name:
                _connect(client, name, timeout)
            client.sendall(json.dumps(message).encode() + b"\n")
            with client.makefile("rb") as replies:
                line = replies.readline()
        except (FileNotFoundError, ConnectionError, NotADirectoryError):
            return None
        except TimeoutError as failure:
            raise BakeoffError(
                f"the run in {folder} does not answer within {timeout:g} s; is its process stopped?"
            ) from failure
    if not line:
        return None
    reply: dict[str, Any] = json.loads(line)
    if "error" in reply:
        raise BakeoffError(reply["error"])
    return reply


def _connect(client: socket.socket, name: str, timeout: float) -> None:
    """Connect, and wait for room where many callers are there already, as the system itself does not.

    Raises:
        TimeoutError: there was none in time.
    """
    until = time.monotonic() + timeout
    while True:
        try:
            client.connect(name)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise TimeoutError from None
            time.sleep(0.02)


def is_answered(folder: Path) -> bool:
    """Whether a live process listens on the channel in `folder`; nothing is asked of it."""
    try:
        if not stat.S_ISSOCK((folder / "control").lstat().st_mode):
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client, _short(folder / "control") as name:
            client.setblocking(False)
            client.connect(name)
    except BlockingIOError:  # so many callers wait that there is no room for one more
        return True
    except OSError:
        return False
    return True


class _short:
    """A name for a socket that is short enough: the system allows about 100 bytes, project folders are longer.

    Where the path is too long the folder is entered while the socket is bound or connected.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.back: int | None = None

    def __enter__(self) -> str:
        if len(os.fsencode(self.path)) < 100:
            return str(self.path)
        self.back = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        os.chdir(self.path.parent)
        return self.path.name

    def __exit__(self, *_: object) -> None:
        if self.back is not None:
            os.fchdir(self.back)
            os.close(self.back)
