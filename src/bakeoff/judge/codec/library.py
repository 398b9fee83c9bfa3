"""Rules of the standard library's classes: what of an instance is its value, and the way back.

A module is never imported to find out: whatever has an instance is in `sys.modules`. Rules of numpy and pandas are in
`arrays`.
"""

from __future__ import annotations

import struct
import sys
import types
from collections.abc import Callable
from importlib import import_module
from typing import Any

from . import wire
from .wire import Incomparable, Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .encoder import Encoder


class Rule:
    """One class.

    Attributes:
        take: what of an instance is its value, in other values. It works on instances of subclasses, too.
        make: an instance, from the class and that; None where there is no way back.
        mutable: whether the instance can be changed, and which one it is matters.
    """

    __slots__ = ("make", "mutable", "name", "take")

    def __init__(
        self, name: str, take: Callable[[Any], Any], make: Callable[[Any, Any], Any] | None, mutable: bool
    ) -> None:
        self.name = name
        self.take = take
        self.make = make
        self.mutable = mutable

    def __call__(self, encoder: Encoder, value: Any) -> None:
        """Write an instance."""
        if self.mutable:
            if not encoder.begin(wire.LISTED_MUTABLE, value):
                return
        else:
            encoder.out.append(wire.LISTED)
        encoder.text(self.name)
        encoder.deeper()
        encoder.put(self.take(value))
        encoder.depth += 1


LISTED: dict[str, Rule] = {}
"""Rules, by `module:qualname` of the class."""


def rule(
    *names: str, make: Callable[[Any, Any], Any] | None = None, mutable: bool = False
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Enter what is decorated, `take`, for the classes named."""

    def enter(take: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for name in names:
            LISTED[name] = Rule(name, take, make, mutable)
        return take

    return enter


def resolved(name: str) -> Any:
    """Object that a module has under `module:qualname`; None where the module is not imported or has no such thing."""
    module, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = None if found is None else found.__dict__.get(part)
    return found


def imported(name: str) -> Any:
    """The same, the module imported.

    Raises:
        Malformed: there is no such thing.
    """
    module, _, qualname = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as failure:
        raise Malformed(f"{name} cannot be had here: {failure}") from None
    return found


def _apply(cls: Any, parts: Any) -> Any:
    return cls(*parts)


def _call(cls: Any, part: Any) -> Any:
    return cls(part)


@rule("decimal:Decimal", make=_call)
def _decimal(value: Any) -> Any:
    return type_of("decimal:Decimal").__str__(value)


def type_of(name: str) -> Any:
    """The class of a rule, which is imported as it has an instance."""
    return resolved(name)


def _timed(cls: Any, parts: Any) -> Any:
    return cls(*parts[:-1], fold=parts[-1])


_DAY, _CLOCK = ("year", "month", "day"), ("hour", "minute", "second", "microsecond", "tzinfo", "fold")


def _fields_rule(name: str, fields: tuple[str, ...], make: Callable[[Any, Any], Any], mutable: bool = False) -> None:
    @rule(name, make=make, mutable=mutable)
    def take(value: Any) -> Any:
        cls = type_of(name)
        return tuple(getattr(cls, field).__get__(value) for field in fields)


_fields_rule("datetime:date", _DAY, _apply)
_fields_rule("datetime:time", _CLOCK, _timed)
_fields_rule("datetime:datetime", (*_DAY, *_CLOCK), _timed)
_fields_rule("datetime:timedelta", ("days", "seconds", "microseconds"), _apply)
_fields_rule(
    "functools:partial", ("func", "args", "keywords"), lambda cls, parts: cls(parts[0], *parts[1], **parts[2]), True
)


@rule("datetime:timezone", make=_apply)
def _timezone(value: Any) -> Any:
    return type_of("datetime:timezone").__getinitargs__(value)


@rule("zoneinfo:ZoneInfo", make=_call)
def _zone(value: Any) -> Any:
    return type_of("zoneinfo:ZoneInfo").key.__get__(value)


PATHS = ("PurePosixPath", "PureWindowsPath", "PosixPath", "WindowsPath")


@rule(*(f"{module}:{name}" for module in ("pathlib", "pathlib._local") for name in PATHS), make=_call)
def _path(value: Any) -> Any:
    return str(value)


@rule("re:Pattern", make=lambda cls, parts: import_module("re").compile(*parts))
def _pattern(value: Any) -> Any:
    return (value.pattern, value.flags)


@rule("collections:deque", mutable=True, make=lambda cls, parts: cls(parts[1], parts[0]))
def _deque(value: Any) -> Any:
    cls = type_of("collections:deque")
    return (cls.maxlen.__get__(value), list(cls.__iter__(value)))


@rule("collections:OrderedDict", mutable=True, make=lambda cls, parts: cls(zip(*parts, strict=True)))
def _ordered(value: Any) -> Any:
    cls = type_of("collections:OrderedDict")
    return (list(cls.keys(value)), list(cls.values(value)))


@rule("collections:defaultdict", mutable=True, make=lambda cls, parts: cls(parts[0], zip(*parts[1:], strict=True)))
def _defaults(value: Any) -> Any:
    factory = type_of("collections:defaultdict").default_factory.__get__(value)
    return (factory, list(dict.keys(value)), list(dict.values(value)))


@rule("types:SimpleNamespace", mutable=True, make=lambda cls, parts: cls(**parts))
def _namespace(value: Any) -> Any:
    held = types.SimpleNamespace.__dict__["__dict__"].__get__(value)
    return dict(sorted(held.items()))


@rule("array:array", mutable=True, make=lambda cls, parts: cls(*parts))
def _array(value: Any) -> Any:
    cls = type_of("array:array")
    return (cls.typecode.__get__(value), cls.tobytes(value))


@rule("builtins:memoryview", make=lambda cls, parts: _viewed(*parts))
def _view(value: memoryview) -> Any:
    return (value.format, value.shape, value.readonly, value.tobytes())


def _viewed(kind: str, shape: tuple[int, ...], readonly: bool, data: bytes) -> memoryview:
    view = memoryview(data if readonly else bytearray(data))
    return view if kind == "B" and len(shape) == 1 else view.cast(kind, shape)  # type: ignore[call-overload]


@rule("builtins:dict_keys", mutable=True, make=lambda cls, items: dict.fromkeys(items).keys())
@rule("builtins:dict_values", mutable=True, make=lambda cls, items: dict(enumerate(items)).values())
@rule("builtins:dict_items", mutable=True, make=lambda cls, items: dict(items).items())
def _view_of_dict(value: Any) -> Any:
    return list(value)


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
    if not state:
        cls.__init__(made)
        cls.close(made)
        return made
    cls.__setstate__(made, (*state, None))
    return made


def _stream_rule(name: str) -> None:
    @rule(name, mutable=True, make=_stream)
    def take(value: Any) -> Any:
        cls = type_of(name)
        if cls.closed.__get__(value):
            return ()  # nobody can ask what it held
        *state, attributes = cls.__getstate__(value)
        if attributes and type(value) is cls:  # those of subclasses are written like anybody's
            raise Incomparable("stream with attributes")
        return tuple(state)


_stream_rule("_io:StringIO")
_stream_rule("_io:BytesIO")


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


ITERATORS = frozenset(
    [f"builtins:{name}" for name in (
        "generator", "map", "filter", "zip", "enumerate", "reversed", "iterator", "callable_iterator", "list_iterator",
        "list_reverseiterator", "tuple_iterator", "range_iterator", "longrange_iterator", "str_iterator",
        "str_ascii_iterator", "bytes_iterator", "bytearray_iterator", "set_iterator", "dict_keyiterator",
        "dict_valueiterator", "dict_itemiterator", "dict_reversekeyiterator", "dict_reversevalueiterator",
        "dict_reverseitemiterator", "odict_iterator", "memory_iterator", "generic_alias_iterator", "formatteriterator",
    )]
    + [f"itertools:{name}" for name in (
        "accumulate", "batched", "chain", "combinations", "combinations_with_replacement", "compress", "count",
        "cycle", "dropwhile", "filterfalse", "groupby", "islice", "pairwise", "permutations", "product", "repeat",
        "starmap", "takewhile", "zip_longest", "_tee",
    )]
    + [
        "_collections:_deque_iterator", "_collections:_deque_reverse_iterator", "re:Scanner", "array:arrayiterator",
        "_struct:unpack_iterator", "_csv:reader", "_elementtree:_element_iterator",
    ]
)  # fmt: skip
"""What gives items when asked, and nothing of the project's code decides how."""
