"""Warm server: a process with pytest imported that forks for each evaluation; this is the coordinator's side of it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import anyio
import anyio.lowlevel

from bakeoff.judge.codec import FOLDER
from bakeoff.optimize.behaviour.inside import frames
from bakeoff.optimize.errors import BehaviourError
from bakeoff.process.attach import ROOT
from bakeoff.workspace.blocking import in_thread

INSIDE = str(Path(__file__).with_name("inside"))
START = """
import sys
if sys.version_info < (3, 11):
    sys.exit("it is older than Python 3.11")
import importlib.util, json
root, descriptor, codec, inside, preload = sys.argv[1:]
make = importlib.util.spec_from_file_location
spec = make("_bakeoff_inside", inside + "/__init__.py", submodule_search_locations=[inside])
sys.modules["_bakeoff_inside"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from _bakeoff_inside.server import main
main(root, int(descriptor), codec, json.loads(preload))
"""
START_TIME = 60.0
"""Seconds a server gets to import what it should."""


class Channel:
    """Frames on a socket, beside the event loop."""

    def __init__(self, link: socket.socket) -> None:
        link.setblocking(False)
        self.link = link

    async def send(self, header: dict[str, Any], parts: Sequence[bytes] = ()) -> None:
        """Send a frame.

        Passes on OSError: nobody reads it.
        """
        data = memoryview(frames.pack(header, list(parts)))
        while data:
            try:
                data = data[self.link.send(data) :]
            except BlockingIOError:
                await anyio.wait_writable(self.link)

    async def receive(self) -> frames.Frame | None:
        """The next frame; None at the end.

        Passes on BrokenFrame: what came is none.
        """
        head = await self.read(frames.HEAD.size)
        if len(head) < frames.HEAD.size:
            return None
        header, body = frames.sizes(head)
        rest = await self.read(header + body)
        return frames.unpack(rest[:header], rest[header:]) if len(rest) == header + body else None

    async def read(self, size: int) -> bytes:
        """So many bytes; fewer at the end."""
        data = bytearray()
        while len(data) < size:
            await anyio.lowlevel.checkpoint()  # one who sends without end shall not keep the loop to himself
            try:
                piece = self.link.recv(min(size - len(data), 1 << 20))
            except BlockingIOError:
                await anyio.wait_readable(self.link)
                continue
            except ConnectionError:
                break
            if not piece:
                break
            data += piece
        return bytes(data)

    def close(self) -> None:
        """Close the socket."""
        self.link.close()


class WarmServer:
    """A server that forks. Made by `start`; `close` ends it and all that it forked.

    Attributes:
        facts: what it tells of its interpreter.
    """

    def __init__(self, process: subprocess.Popen[bytes], link: socket.socket, facts: dict[str, Any]) -> None:
        self._process = process
        self._link = link
        self.facts = facts

    @classmethod
    async def start(
        cls, python: str, *, seed: int, preload: Sequence[str] = (), variables: Mapping[str, str]
    ) -> WarmServer:
        """Start one and wait until it is warm.

        Args:
            python: the interpreter.
            seed: for its hashes.
            preload: modules to import.
            variables: its environment.

        Raises:
            BehaviourError: it does not start, or has no pytest.
        """
        ours, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile() as said:
            try:
                process = await in_thread(_started, python, seed, list(preload), variables, theirs, said)
            except OSError as failure:
                ours.close()
                raise BehaviourError(f"{python} cannot be started: {failure.strerror}") from failure
            theirs.close()
            try:
                facts = await cls._facts(ours)
                if facts is None or "failed" in facts:
                    said.seek(0)
                    lines = said.read(1 << 16).decode(errors="replace").strip().splitlines()
                    why = facts["failed"] if facts else (lines or ["it ended without a word"])[-1]
                    raise BehaviourError(f"{python}: {why}")
            except BaseException:
                _ended(process, ours)
                raise
        return cls(process, ours, facts)

    @staticmethod
    async def _facts(link: socket.socket) -> dict[str, Any] | None:
        with anyio.move_on_after(START_TIME):
            found = await Channel(link).receive()
            return None if found is None else found[0]
        return {"failed": f"it was not ready within {START_TIME:.0f} s"}

    @property
    def alive(self) -> bool:
        """Whether it can take orders."""
        return self._process.poll() is None

    async def preload(self, names: Sequence[str]) -> bool:
        """Have it import more modules; whether it got over that in `START_TIME`.

        Args:
            names: of modules.
        """
        ours, theirs = socket.socketpair()
        channel = Channel(ours)
        try:
            with theirs:
                self.order({"do": "import", "names": list(names)}, [], [theirs.fileno()])
            with anyio.move_on_after(START_TIME):
                return await channel.receive() is not None
        except BehaviourError:
            pass  # it died
        finally:
            channel.close()
        return False

    def order(self, header: dict[str, Any], parts: Sequence[bytes], descriptors: Sequence[int]) -> None:
        """Have it fork and work; what comes of it comes on the descriptors.

        Raises:
            BehaviourError: it died.
        """
        data = frames.pack(header, list(parts))
        try:
            self._link.setblocking(True)
            sent = socket.send_fds(self._link, [data], list(descriptors))
            self._link.sendall(data[sent:])
        except OSError as failure:
            why = f"exit status {status}" if (status := self._process.poll()) is not None else failure.strerror
            raise BehaviourError(f"the server that runs tests died: {why}") from failure

    def close(self) -> None:
        """End it, and all that it forked; returns when it is gone."""
        _ended(self._process, self._link)


def _started(
    python: str, seed: int, preload: list[str], variables: Mapping[str, str], link: socket.socket, said: IO[bytes]
) -> subprocess.Popen[bytes]:
    argv = [python, "-P", "-c", START, ROOT, str(link.fileno()), FOLDER, INSIDE, json.dumps(preload)]
    env = {**variables, "PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        argv,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said,
        cwd="/",
        pass_fds=[link.fileno()],
        start_new_session=True,
    )


def _ended(process: subprocess.Popen[bytes], link: socket.socket) -> None:
    link.close()
    with suppress(ProcessLookupError):
        os.kill(process.pid, 9)
    process.wait()
