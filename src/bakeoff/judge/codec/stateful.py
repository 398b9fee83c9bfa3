"""Rules of classes whose instances have a state behind them: generators of random numbers, counters, locks, streams."""

from __future__ import annotations

import struct
import types
from importlib import import_module
from typing import Any

from .listed import rule, type_of
from .types import mro_of
from .wire import Incomparable, Malformed

_TWISTER = struct.Struct("<625I")


def _random(cls: Any, data: Any) -> Any:
    made = cls.__new__(cls)
    try:
        type_of("_random:Random").setstate(made, _TWISTER.unpack(data))
    except (TypeError, ValueError, struct.error):
        raise Malformed("no state of a generator of random numbers") from None
    return made


@rule("_random:Random", mutable=True, make=_random)
def _twister(value: Any) -> Any:
    return _TWISTER.pack(*type_of("_random:Random").getstate(value))


@rule("itertools:count", mutable=True, make=lambda cls, parts: cls(*parts))
def _count(value: Any) -> Any:
    from ast import literal_eval  # slow to import, for what is rare

    said = type_of("itertools:count").__repr__(value).removeprefix("count")
    try:
        numbers = literal_eval(f"{said[:-1]},)")
    except (ValueError, SyntaxError):
        raise Incomparable("counter of other than numbers") from None
    return numbers


def _new_lock(cls: Any, kind: str) -> Any:
    return getattr(import_module("threading"), "RLock" if kind == "RLock" else "Lock")()


@rule("_thread:lock", "_thread:RLock", mutable=True, make=_new_lock)
def _lock(value: Any) -> Any:
    if not repr(value).startswith("<unlocked "):
        raise Incomparable("lock that is held")
    return "RLock" if "RLock" in type(value).__name__ else "Lock"


def _stream(cls: Any, state: Any) -> Any:
    made = cls.__new__(cls)
    cls.__setstate__(made, (*state, None))
    return made


@rule("_io:StringIO", "_io:BytesIO", mutable=True, make=_stream)
def _memory(value: Any) -> Any:
    name = "StringIO" if any(base is type_of("_io:StringIO") for base in mro_of(type(value))) else "BytesIO"
    cls = type_of(f"_io:{name}")
    try:
        *state, attributes = cls.__getstate__(value)
    except ValueError:
        raise Incomparable("stream that is closed") from None
    if attributes and type(value) is cls:  # those of subclasses are written like anybody's
        raise Incomparable("stream with attributes")
    return tuple(state)


def _called(cls: Any, parts: Any) -> Any:
    return cls(*parts[0], **parts[1])


@rule("operator:itemgetter", "operator:attrgetter", "operator:methodcaller", make=_called)
def _getter(value: Any) -> Any:
    cls: Any = type(value)
    made, given = cls.__reduce__(value)
    named = getattr(made, "keywords", {})
    return ((*getattr(made, "args", ()), *given), named)


@rule("builtins:mappingproxy", mutable=True, make=lambda cls, held: types.MappingProxyType(held))
def _proxy(value: Any) -> Any:
    return dict(value)


def _named_logger(cls: Any, name: str) -> Any:
    return import_module("logging").getLogger(name)


@rule("logging:Logger", "logging:RootLogger", mutable=True, make=_named_logger)
def _logger(value: Any) -> Any:
    # Which one it is, not what it writes: that goes where the tests' process has told it to.
    return vars(value)["name"]
