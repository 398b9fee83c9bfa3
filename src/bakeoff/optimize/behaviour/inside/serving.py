"""The process of one candidate: gets calls as bytes, makes them, answers with bytes. It knows nothing of any verdict.

What it answers is a claim. The tests get what is decoded from the very bytes that are compared, so a false claim is a
false result.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import socket
import sys
import threading
import time
import warnings
from functools import partial
from typing import Any

from . import frames, writeback
from .evidence import TAMPERING, Untouched, Witness
from .importing import ProjectFinder, target_in
from .later import LateReader
from .module_state import ModuleState
from .reusing import Reused

MESSAGE = 500
ONCE, REUSE, LATER = "once", "reuse", "later"
MODES = (ONCE, REUSE, LATER)
"""Calls are made once, and the state around them is told at the end; get the objects of earlier ones, with other
contents; have their results used as callers may."""


def text_of(failure: BaseException) -> str:
    """An exception's message, also of one that refuses to be shown."""
    try:
        return str(failure)[:MESSAGE]
    except BaseException:
        return "an exception that cannot be shown"


class Served:
    """The candidate, loaded.

    Args:
        job: `module` (its name), `qualname`, `inner` (call it without its decorators), `sys_path`, `root`, `unseen`,
            `added` (see `codec.decode`), `mode`: how calls are made, see `MODES`.
        codec: the module.
    """

    def __init__(self, job: dict[str, Any], codec: Any) -> None:
        self.codec = codec
        self.unseen = frozenset(job["unseen"])
        self.added = job["added"]
        self.limits = codec.Limits(nodes=300_000, size=job["result_limit"], items=job["items_limit"])
        finder = ProjectFinder(job["root"])
        sys.meta_path.insert(0, finder)
        sys.path[:] = job["sys_path"]
        for name in job["before"]:
            importlib.import_module(name)
        self.module = importlib.import_module(job["module"])
        self.target = target_in(self.module, job["qualname"], inner=job["inner"])
        self.qualname = job["qualname"]
        self.threads = threading.active_count()
        self.reused = Reused(codec, self._as_it_is, self.added) if job["mode"] == REUSE else None
        self.late = LateReader(self._made, self.encode, self._as_it_is) if job["mode"] == LATER else None
        failures = (codec.Incomparable, RecursionError, MemoryError)
        self.state: ModuleState | None = None
        if job["mode"] == ONCE:
            self.state = ModuleState(self.module, finder.is_ours, self._as_it_is, failures)

    def encode(self, value: Any) -> bytes:
        """As the codec does it."""
        return self.codec.encode(value, self.limits, unseen=self.unseen)  # type: ignore[no-any-return]

    def _as_it_is(self, value: Any) -> bytes:
        return self.codec.encode(value, self.limits, consume=False, unseen=self.unseen)  # type: ignore[no-any-return]

    def answer(self, call: bytes) -> tuple[dict[str, Any], list[bytes]]:
        """Make a call: what came of it, with the arguments as they are then."""
        if self.late is not None:
            return self._used_later(self.late, call)
        args, kwargs = self._decoded(call)
        if self.reused is not None:
            args, kwargs = self.reused.filled(args, kwargs)
        nodes = writeback.nodes((args, kwargs), self.added)
        places = [os.fstat(stream).st_size for stream in (1, 2)]
        started = time.monotonic()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            result, raised = self._called(args, kwargs)
        header: dict[str, Any] = {"seconds": time.monotonic() - started}
        header["warned"] = [_warning(each) for each in warned[:20]]
        whole, found, after, *told = self._outcome(header, args, kwargs, nodes, result, raised)
        return header, [whole, found, after, *map(_printed, (1, 2), places), *told]

    def _decoded(self, call: bytes) -> Any:
        return self.codec.decode(call, self.limits, self.added)

    def _called(self, args: Any, kwargs: Any) -> tuple[Any, BaseException | None]:
        try:
            result: Any = self.target(*args, **kwargs)
            return asyncio.run(result) if inspect.iscoroutine(result) else result, None
        except BaseException as failure:
            return None, failure

    def _made(self, call: bytes) -> tuple[Any, BaseException | None, Any]:
        args, kwargs = self._decoded(call)
        return *self._called(args, kwargs), (args, kwargs)

    def _used_later(self, late: LateReader, call: bytes) -> tuple[dict[str, Any], list[bytes]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                header, whole = late.answer(call)
            except self.codec.Incomparable as failure:
                return {"kind": "incomparable", "message": str(failure)}, []
            except (RecursionError, MemoryError) as failure:
                return {"kind": "incomparable", "message": f"{type(failure).__name__} while it was read"}, []
        return header, [whole, whole]

    def _outcome(
        self, header: dict[str, Any], args: Any, kwargs: Any, nodes: Any, result: Any, raised: BaseException | None
    ) -> list[bytes]:
        read: dict[int, Any] = {}  # an iterator can be read once
        encode = partial(self.codec.encode, limits=self.limits, unseen=self.unseen, read=read)
        try:
            if raised is None:
                header["kind"], header["type"] = "return", type(result).__name__
                found = encode(result, messages=False)  # first: what it gives may be read from the arguments
                whole = encode((args, kwargs, nodes, result), messages=False)
                parts = [whole, found, encode((args, kwargs), messages=False)]
                failures = [each.failure for _, each in read.values() if each.failure is not None]
                if failures:
                    header["message"] = "; ".join(map(text_of, failures))[:MESSAGE]
                    parts.append(encode((args, kwargs, nodes, result)))
                return parts
            header["kind"], header["type"] = "raise", type(raised).__name__
            header["message"] = text_of(raised)
            header["errno"] = raised.errno if isinstance(raised, OSError) else None
            whole = encode((args, kwargs, nodes, type(raised)))
            return [whole, self._failure(raised), encode((args, kwargs))]
        except self.codec.Incomparable as failure:
            header["kind"], header["message"] = "incomparable", str(failure)
        except (RecursionError, MemoryError) as failure:
            header["kind"], header["message"] = "incomparable", f"{type(failure).__name__} while it was read"
        return [b"", b"", b""]

    def _failure(self, raised: BaseException) -> bytes:
        try:
            return self.encode(raised)
        except self.codec.Incomparable:
            return b""


def _warning(warned: warnings.WarningMessage) -> list[str]:
    return [warned.category.__module__, warned.category.__qualname__, text_of(warned.message)[:MESSAGE]]  # type: ignore[arg-type]


def _printed(stream: int, start: int) -> bytes:
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except BaseException:  # noqa: S110 - it is the code's own by now
            pass
    size = os.fstat(stream).st_size - start
    return os.pread(stream, size, start) if size > 0 else b""


def serve(link: socket.socket, witness: Witness, untouched: Untouched, job: dict[str, Any], codec: Any) -> None:
    """Load the candidate, answer calls until the other side is done, tell what was patched."""
    witness.arm()
    receive, send, changed = frames.receive, frames.send, untouched.changed
    try:
        served = Served(job, codec)
    except BaseException as failure:
        send(link, {"kind": "import-failure", "message": f"{type(failure).__name__}: {text_of(failure)}"})
        _finish(link, witness, changed, 1)
        return
    send(link, {"kind": "ready"})
    while True:
        frame = receive(link)
        if frame is None:
            break
        header, parts = frame
        if header["do"] == "finish":
            state = {} if served.state is None else served.state.after()
            _finish(link, witness, changed, served.threads, state)
            break
        try:
            found, answers = served.answer(parts[0])
        except codec.Malformed as failure:
            found, answers = {"kind": "unfit", "message": str(failure)}, []
        send(link, found, answers)


def _finish(
    link: socket.socket, witness: Witness, changed: Any, threads: int, state: dict[str, str] | None = None
) -> None:
    for name in changed():
        witness.tell(TAMPERING, f"changed {name}")
    if threading.active_count() > threads:
        witness.tell("process", f"{threading.active_count() - threads} threads left running")
    try:
        frames.send(link, {"kind": "finished", "state": state or {}})
    except OSError:
        pass
