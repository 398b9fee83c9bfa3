"""The warm server: has imported pytest and the libraries of the tests, nothing of the project; forks for each order.

An order is a frame with the descriptors that the work gets; its answer comes on those.
"""

from __future__ import annotations

import array
import gc
import importlib
import importlib.util
import os
import signal
import socket
import sys
from typing import Any

from . import frames
from .evidence import Untouched, Witness, reseed
from .serving import serve
from .testing import run_tests

MANY = 8
TAMPERED = "_bakeoff_codec"


def load_codec(folder: str) -> Any:
    """The codec under a name of our own, wholly.

    Raises:
        ImportError: there is none.
    """
    place = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(TAMPERED, place, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no codec in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[TAMPERED] = module
    spec.loader.exec_module(module)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py") and name != "__init__.py":
            importlib.import_module(f"{TAMPERED}.{name[:-3]}")
    return module


class Server:
    """The server's life."""

    def __init__(self, link: socket.socket, codec: Any, forked: Any) -> None:
        self.link = link
        self.codec = codec
        self.forked = forked
        self.untouched = Untouched()

    def run(self) -> None:
        """Take orders until the other side closes."""
        while True:
            order = self._order()
            if order is None:
                return
            header, parts, descriptors = order
            if header["do"] == "import":
                preload(header["names"])
                self.untouched = Untouched()
                with socket.socket(fileno=os.dup(descriptors[0])) as link:
                    frames.send(link, {"imported": len(header["names"])})
            elif os.fork() == 0:
                try:
                    self._child(header, parts, descriptors)
                finally:
                    os._exit(70)
            for descriptor in descriptors:
                os.close(descriptor)

    def _order(self) -> tuple[dict[str, Any], list[bytes], list[int]] | None:
        space = socket.CMSG_SPACE(MANY * array.array("i").itemsize)
        head, extra, _, _ = self.link.recvmsg(frames.HEAD.size, space)
        if not head:
            return None
        descriptors = array.array("i")
        for level, kind, data in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
        header, body = frames.sizes(head)
        rest = _read(self.link, header + body)
        found, parts = frames.unpack(rest[:header], rest[header:])
        return found, parts, list(descriptors)

    def _child(self, header: dict[str, Any], parts: list[bytes], descriptors: list[int]) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control, *given = descriptors
        contents = iter(parts)
        files = {path: next(contents) if kept else None for path, kept in header["files"]}
        overrides = {path: next(contents) for path in header["overrides"]}
        bounds = self.forked.Bounds(**header["bounds"])

        def work() -> None:
            _work(header, overrides, self.codec, self.untouched)

        self.forked.confined(header["plan"], bounds, files, control, given, work)


def _work(header: dict[str, Any], overrides: dict[str, bytes], codec: Any, untouched: Untouched) -> None:
    """Work of the confined process; descriptors from 3 on: evidence, then report or calls, then calls of tests."""
    job = header["job"]
    plan = header["plan"]
    os.environ.clear()
    os.environ.update(header["variables"])
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", buffering=1, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.dont_write_bytecode = True
    sys.argv[:] = ["pytest"]
    reseed()
    gc.enable()
    witness = Witness(3, plan["folder"], plan["temp"])
    first = socket.socket(fileno=4)
    if header["do"] == "serve":
        serve(first, witness, untouched, job, codec)
    else:
        job["overrides"] = overrides
        link = socket.socket(fileno=5) if header["linked"] else None
        if job["watched"]:
            witness.arm()
        end = run_tests(first, link, job, codec)
        if job["watched"]:
            for name in untouched.changed():
                witness.tell("tampering", f"changed {name}")
        if link is not None:
            frames.send(link, {"do": "finish"})
        frames.send(first, end)
    os._exit(0)


def _read(link: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = link.recv(min(size - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def main(root: str, descriptor: int, codec_folder: str, names: list[str]) -> None:
    """Serve until the other side closes."""
    sys.path.append(root)
    from bakeoff.workspace.sandbox.inside import forked

    sys.path.remove(root)
    for name in [name for name in sys.modules if name.partition(".")[0] == "bakeoff"]:
        del sys.modules[name]  # the project may be bakeoff itself
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # whoever started it decides when it ends
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.dont_write_bytecode = True
    link = socket.socket(fileno=descriptor)
    try:
        import pytest
    except ImportError as failure:
        frames.send(link, {"failed": f"pytest cannot be imported: {failure}"})
        return
    codec = load_codec(codec_folder)
    preload(names)
    facts = {
        "python": sys.version.split()[0],
        "pytest": pytest.__version__,
        "executable": sys.executable,
        "places": sorted({sys.prefix, sys.base_prefix, *(path for path in sys.path if os.path.isdir(path))}),
    }
    frames.send(link, facts)
    Server(link, codec, forked).run()


def preload(names: list[str]) -> None:
    """Import modules, and have forks copy nothing of what there is when they look for garbage."""
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:  # noqa: S112 - the tests will say what is wrong with it
            continue
    gc.collect()
    gc.freeze()
