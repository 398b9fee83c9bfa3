"""Proxy of the target while tests run: it notes the calls, and passes them on to another process.

Modes: `count` only counts; `record` runs the function in this process and notes what came of it; `proxy` has the call
made in the candidate's process, and gives the tests what that answered.
"""

from __future__ import annotations

import contextvars
import functools
import hashlib
import importlib
import inspect
import os
import socket
import sys
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

from . import frames, writeback
from .serving import text_of

KEPT = 64 << 10
"""Bytes of a part that are reported as they are; of more, a digest."""
GIVEN = 128 << 10
"""The same of arguments, which calls are made of once more: those of large ones show where time goes."""
BYTES = 64
"""Of a message that count as one value, where a value is long."""
ALL = 3
"""Times as many values that calls of all tests together may hold as those of one."""
SPENT = "its tests give it more than"
"""Begins the reason why calls of a test are not looked at."""
CALLS = 200
"""Calls of one test that are reported in full."""

_depth: contextvars.ContextVar[int] = contextvars.ContextVar("bakeoff_depth", default=0)


class Lost(Exception):
    """The candidate's process gave no answer."""


class Proxy:
    """The calls of one run of tests.

    Args:
        report: where calls are told.
        link: the candidate's process, for `proxy`.
        codec: the module.
        job: `mode`, see above; `unseen`, functions and classes whose code does not count; `fit`, whether to find out
            which tests can be judged this way: where not, the function here does it; `result_limit`, bytes of one
            call; `items_limit`, that are read of one iterator; `noted_limit`, values in the arguments of one test's
            calls that are noted: of calls after that many nothing is, and with `fit` none is passed on; see `ALL`, too.
    """

    def __init__(
        self,
        report: socket.socket,
        link: socket.socket | None,
        codec: Any,
        job: dict[str, Any],
    ) -> None:
        self.mode = job["mode"]
        self.report = report
        self.link = link
        self.codec = codec
        self.unseen = frozenset(job["unseen"])
        self.fit = job["fit"]
        self.limits = codec.Limits(nodes=300_000, size=job["result_limit"], items=job["items_limit"])
        self.test = ""
        self.index = 0
        self.noted = self.left = job["noted_limit"]
        self.rest = ALL * self.noted
        self.deadline: float | None = None
        self.lines: list[int] = []
        self._globals: list[tuple[types.ModuleType, dict[str, Any]]] = []
        self._lock = threading.Lock()

    def begin(self, test: str, deadline: float | None) -> None:
        """The calls from now on are of this test."""
        self.test, self.index, self.deadline, self.left = test, 0, deadline, min(self.noted, self.rest)

    def loaded(self, module: types.ModuleType) -> None:
        """Remember what the module's names stand for: whoever changes that means it for the function, too."""
        self._globals.append((module, dict(vars(module))))

    def decorator(self, line: int) -> Callable[[Any], Any]:
        """Decorator of the definition in that line: of several of one name, the last one that is used is in force."""

        def decorate(function: Any) -> Any:
            self.lines.append(line)
            return self.decorate(function)

        return decorate

    def decorate(self, function: Any) -> Any:
        """Stand-in for the function, like it in name, signature and documentation."""
        call = self._call
        if inspect.iscoroutinefunction(function):

            async def stand_in(*args: Any, **kwargs: Any) -> Any:
                return await call_async(function, args, kwargs)

            call_async = self._call_async
        else:

            def stand_in(*args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
                return call(function, args, kwargs)

        # With the globals of the module, so that doctest takes it for the module's own.
        names = getattr(function, "__globals__", stand_in.__globals__)
        made = types.FunctionType(stand_in.__code__, names, stand_in.__name__, None, stand_in.__closure__)
        functools.update_wrapper(made, function)
        for name in ("cache_info", "cache_clear", "cache_parameters", "register", "dispatch", "registry"):
            if hasattr(function, name):
                setattr(made, name, getattr(function, name))
        return made

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _depth.get():
            return function(*args, **kwargs)
        token = _depth.set(1)
        try:
            if self.mode == "proxy":
                return self._passed_on(function, args, kwargs)
            return self._noted(args, kwargs, functools.partial(function, *args, **kwargs))
        finally:
            _depth.reset(token)

    async def _call_async(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _depth.get():
            return await function(*args, **kwargs)
        token = _depth.set(1)
        try:
            if self.mode == "proxy":
                found = self._passed_on(function, args, kwargs)
                return await found if inspect.isawaitable(found) else found
            before, index = self._begin(args, kwargs)
            try:
                result = await function(*args, **kwargs)
            except BaseException as failure:
                self._end(index, before, args, kwargs, None, failure)
                raise
            self._end(index, before, args, kwargs, result, None)
            return result
        finally:
            _depth.reset(token)

    # What happens in this process

    def _noted(self, args: Any, kwargs: Any, work: Callable[[], Any]) -> Any:
        before, index = self._begin(args, kwargs)
        try:
            result = work()
        except BaseException as failure:
            self._end(index, before, args, kwargs, None, failure)
            raise
        self._end(index, before, args, kwargs, result, None)
        return result

    def _begin(self, args: Any, kwargs: Any) -> tuple[bytes | str, int]:
        index, self.index = self.index, self.index + 1
        if self.mode == "count":
            return "", index
        if self.left <= 0:
            return f"{SPENT} {self.noted:,} values", index
        return self._encoded((args, kwargs), of_test=True), index

    def _encoded(self, value: Any, *, of_test: bool = False) -> bytes | str:
        """The bytes; or why there are none, in words.

        Args:
            value: what to encode.
            of_test: its nodes count for what is noted of a test.
        """
        try:
            found, nodes = self.codec.counted(value, self.limits, consume=False, unseen=self.unseen)
            if of_test:
                self._spend(nodes, found)
            return found  # type: ignore[no-any-return]
        except self.codec.Incomparable as failure:
            return str(failure)
        except RecursionError:
            return "it is too deep"

    def _end(
        self, index: int, before: bytes | str, args: Any, kwargs: Any, result: Any, raised: BaseException | None
    ) -> None:
        if self.mode == "count":
            if index < 2:
                self._tell(index, {"kind": "counted"}, [])
            return
        if not isinstance(before, bytes):
            self._tell(index, {"kind": "unfit", "message": before}, [])
            return
        value = result if raised is None else type(raised)
        whole = self._encoded((args, kwargs, value))
        header = {"kind": "return" if raised is None else "raise", "type": type(value).__name__}
        if raised is not None:
            header |= {"type": type(raised).__name__, "message": text_of(raised)}
        if not isinstance(whole, bytes):
            self._tell(index, {"kind": "incomparable", "message": whole}, [])
            return
        parts = [self._encoded(value if raised is None else raised), self._encoded((args, kwargs))]
        self._tell(index, header, [before, whole, *(part if isinstance(part, bytes) else b"" for part in parts)])

    def _tell(self, index: int, header: dict[str, Any], parts: list[bytes]) -> None:
        parts = [self.codec.neutral(part) for part in parts]
        found = parts if index < CALLS else []
        told = {"say": "call", "test": self.test, "index": index, **header}
        if index >= CALLS and parts:
            told["digest"] = hashlib.blake2b(b"\0".join(parts), digest_size=12).hexdigest()
        frames.send(self.report, told, [_short(part, KEPT if place else GIVEN) for place, part in enumerate(found)])

    # What happens in the other process

    def _passed_on(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        with self._lock:
            index, self.index = self.index, self.index + 1
            why = self._changed() or self._spent()
            sent: list[Any] = []
            before = b""
            if why is None:
                try:
                    before, nodes = self.codec.counted((args, kwargs), self.limits, unseen=self.unseen)
                    self._spend(nodes, before)
                    sent = writeback.nodes((args, kwargs))  # what has bytes has an end, too
                except (self.codec.Incomparable, RecursionError) as failure:
                    why = str(failure)
            if why is not None:
                return self._unfit(index, why, function, args, kwargs)
            header, parts = self._asked(index, before)
            kind = header.get("kind")
            if kind in ("unfit", "incomparable") and self._may_stay():
                return self._unfit(index, str(header.get("message")), function, args, kwargs)
            self._tell(index, header, [before, *parts[:5]])
            return self._given(index, header, parts, before, sent, (function, args, kwargs))

    def _given(
        self, index: int, header: dict[str, Any], parts: list[bytes], before: bytes, sent: list[Any], call: Any
    ) -> Any:
        """Let the caller have what came of the call.

        Raises:
            ValueError: never: it is caught here.
            RuntimeError: what came cannot be made here.
        """
        try:
            self._print(parts[3:5])
            if header["kind"] == "return":
                # With what exceptions say that end iterators, where that is not compared.
                _, _, came, value = self.codec.decode(parts[5] if len(parts) > 5 else parts[0], self.limits)
                failure = None
            elif header["kind"] == "raise":
                _, _, came, _ = self.codec.decode(parts[0], self.limits)
                value, failure = None, self.codec.decode(parts[1], self.limits) if parts[1] else None
                if not isinstance(failure, BaseException):
                    raise ValueError(f"{header.get('type')} cannot be raised here")
            else:
                raise ValueError(str(header.get("message")))
            restored = writeback.Restored(sent, came, self.codec.instances.COPIED)
            if parts[2] != before:
                restored.write()
            value = restored.real(value)
        except (ValueError, IndexError, TypeError, AttributeError) as odd:
            if self._may_stay():
                return self._unfit(index, str(odd), *call)
            raise RuntimeError(f"bakeoff: what the candidate returned cannot be had here: {odd}") from None
        self._warn(header.get("warned") or [])
        if failure is not None:
            raise failure
        return value

    def _changed(self) -> str | None:
        """Name of the module that stands for something else than after its import."""
        for module, names in self._globals:
            if sys.modules.get(module.__name__) is not module:
                continue
            now = vars(module)
            for name, value in names.items():
                if now.get(name, names) is not value:
                    return f"{module.__name__}.{name} was changed"
        return None

    def _spent(self) -> str | None:
        """Why a test is not for another process: sending what it gives would take many times as long as the test."""
        return f"{SPENT} {self.noted:,} values" if self.fit and self.left <= 0 else None

    def _spend(self, nodes: int, message: bytes) -> None:
        spent = max(nodes, len(message) // BYTES)
        self.left -= spent
        self.rest -= spent

    def _asked(self, index: int, before: bytes) -> frames.Frame:
        if self.link is None:
            raise RuntimeError("there is no candidate's process")
        try:
            frames.send(self.link, {"do": "call"}, [before])
            found = frames.receive(self.link, self.deadline)
        except frames.LateFrame:
            self._lose(index, "timeout", before)
        except frames.BrokenFrame:
            self._lose(index, "forged", before)
        except OSError:
            self._lose(index, "ended", before)
        else:
            if found is not None:
                return found
            self._lose(index, "ended", before)
        raise Lost

    def _lose(self, index: int, why: str, before: bytes) -> None:
        """Nothing can be found out any more in this run."""
        header = {"say": "lost", "test": self.test, "index": index, "why": why}
        frames.send(self.report, header, [_short(self.codec.neutral(before), GIVEN)])
        os._exit(0)

    def _may_stay(self) -> bool:
        """Whether the original may make what cannot go over: no test is judged by calls while files are collected."""
        return self.fit or not self.test

    def _unfit(self, index: int, why: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self._tell(index, {"kind": "unfit", "message": why[:300]}, [])
        return function(*args, **kwargs)

    def _print(self, printed: list[bytes]) -> None:
        for stream, data in zip((sys.stdout, sys.stderr), printed, strict=False):
            if data:
                stream.write(data.decode(errors="replace"))

    def _warn(self, warned: list[list[str]]) -> None:
        for module, name, text in warned:
            category: Any = UserWarning
            try:
                category = functools.reduce(getattr, name.split("."), importlib.import_module(module))
                if not (isinstance(category, type) and issubclass(category, Warning)):
                    category = UserWarning
            except (ImportError, AttributeError):
                category = UserWarning
            warnings.warn(text, category, stacklevel=5)


def _short(part: bytes, most: int) -> bytes:
    if len(part) <= most:
        return part
    return b"\0digest" + hashlib.blake2b(part, digest_size=16).digest()
