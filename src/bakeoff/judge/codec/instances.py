"""Instances of classes, written without asking them: those of the project by what they hold, others by a rule."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import copy
from typing import Any

from . import wire
from .arrays import DTYPE, FUNCTION, SCALAR, is_function
from .classes import (
    attributes_of,
    dictionary_of,
    is_native,
    mro_of,
    name_of,
    native_base,
    put_class,
    put_named,
    slots_of,
)
from .encoder import PUT, Encoder, Put, put_pairs
from .language import general_rule, is_sign
from .library import ITERATORS, LISTED, Rule, resolved
from .pandas_values import pandas_rule, zone_rule
from .wire import DEFAULT, Incomparable

_known: list[type] = []  # classes whose id stands in PUT; alive, so that no other gets it

_KINDS = {
    "_thread.lock": "lock", "_thread.RLock": "lock", "_socket.socket": "socket", "_io.TextIOWrapper": "file",
    "_io.BufferedReader": "file", "_io.BufferedWriter": "file", "_io.BufferedRandom": "file", "_io.FileIO": "file",
    "builtins.coroutine": "coroutine", "builtins.async_generator": "asynchronous generator", "builtins.frame": "frame",
    "builtins.traceback": "traceback",
}  # fmt: skip


def named_rule(cls: type, module: str, qualname: str) -> Rule | None:
    """The rule of a class with that name; None where there is none, or the class only calls itself so."""
    name = f"{module}:{qualname}"
    found = LISTED.get(name)
    if found is None:
        return None
    real = resolved(name)
    return found if real is cls or (real is None and is_native(cls)) else None


def _numpy_rule(cls: type) -> Rule | None:
    """The rule for numpy's scalars, dtypes and functions, of which there are many classes; None for all others."""
    numpy = sys.modules.get("numpy")
    bases = mro_of(cls)
    if numpy is None or not is_native(cls):
        return None
    if is_function(cls):
        return FUNCTION
    if any(base is numpy.generic for base in bases):
        return SCALAR
    if any(base is numpy.dtype for base in bases):
        return DTYPE
    return None


def putter(cls: type) -> Put:
    """Function that writes instances of a class. Remembered in `PUT`.

    Passes on Incomparable: they are not.
    """
    put = PUT.get(id(cls)) or _find(cls)  # importing this file and `classes` has entered some
    _known.append(cls)
    PUT[id(cls)] = put
    return put


def _find(cls: type) -> Put:
    module, qualname = name_of(cls)
    rule = (
        named_rule(cls, module, qualname) or _numpy_rule(cls) or pandas_rule(cls) or zone_rule(cls) or general_rule(cls)
    )
    if rule is not None:
        return rule
    if f"{module}:{qualname}" in ITERATORS and is_native(cls):
        return _iterator
    if any(base is type for base in mro_of(cls)):  # `in` would ask the metaclass whether they are equal
        return put_class
    enum = sys.modules.get("enum")
    if enum is not None and any(base is enum.EnumMeta for base in mro_of(type(cls))):
        return _enum
    base = native_base(cls)
    return _instance(cls, None if base is None else _reader(cls, base))


def _reader(cls: type, base: type) -> Any:
    """Function that writes what the C part `base` of an instance holds.

    Raises:
        Incomparable: nobody knows what that is.
    """
    if _is_exception(base):
        return _exception
    module, qualname = name_of(base)
    rule = named_rule(base, module, qualname)
    if rule is not None:
        return lambda encoder, value: encoder.put(rule.take(value))
    reader = _READERS.get(id(base))
    if reader is None or base is cls:
        raise Incomparable(_KINDS.get(f"{module}.{qualname}", f"type {module}.{qualname}"))
    return reader


def _is_exception(cls: type) -> bool:
    return any(base is BaseException for base in mro_of(cls))


def _instance(cls: type, reader: Any) -> Put:
    """Function that writes instances: the class, what their built-in base holds, and their attributes.

    Those of an immutable base that have no attributes are values like any other: they get no number. One that holds
    nothing, and has a name in the module of its class, is that name, as what stands for "missing" or "infinite" is: it
    is often compared by identity.
    """
    slots = slots_of(cls)
    dictionary = dictionary_of(cls)
    skipped = _cached(cls)
    names = [":".join(name_of(base)) for base in mro_of(cls)]
    numbered = not (reader in _FIXED and not slots and dictionary is None) and not is_sign(cls)

    def put(encoder: Encoder, value: Any) -> None:
        state = _state(value, slots, dictionary, skipped)
        for name in names:
            if name in encoder.unseen:
                state = {each: part for each, part in state.items() if f"{name}.{each}" not in encoder.unseen}
        if reader is None and not state and put_named(encoder, value, name_of(cls)[0]):
            return
        if numbered:
            if not encoder.begin(wire.OBJECT, value):
                return
        else:
            encoder.out.append(wire.OBJECT_FIXED)
        put_class(encoder, cls)
        encoder.deeper()
        if reader is None:
            encoder.out.append(wire.NONE)
        else:
            reader(encoder, value)
        encoder.depth += 1
        encoder.fields(state)

    return put


def _state(value: Any, slots: Mapping[str, Any], dictionary: Any, skipped: frozenset[str]) -> dict[str, Any]:
    found = {}
    for name, slot in slots.items():
        try:
            found[name] = slot.__get__(value)
        except AttributeError:  # it has none
            continue
    if dictionary is not None:
        held = dictionary.__get__(value)
        if type(held) is not dict:
            raise Incomparable("object whose __dict__ is no dict")
        for name, part in list(held.items()):
            if type(name) is not str:
                raise Incomparable("object with an attribute whose name is no text")
            if name not in skipped:
                found[name] = part
    return found


def _cached(cls: type) -> frozenset[str]:
    """Attributes that only remember what a method gave."""
    functools = sys.modules.get("functools")
    if functools is None:
        return frozenset()
    cached = functools.cached_property
    members = (item for base in mro_of(cls) for item in list(attributes_of(base).items()))
    return frozenset(name for name, member in members if type(member) is cached)


def _enum(encoder: Encoder, value: Any) -> None:
    held = _state(value, {}, dictionary_of(type(value)), frozenset())
    encoder.out.append(wire.ENUM)
    put_class(encoder, type(value))
    encoder.put(held.get("_name_"))
    encoder.put(held.get("_value_"))


COPIED = frozenset(map(type, (
    iter([]), iter(()), iter(""), iter("\xe9"), iter(b""), iter(bytearray()), iter(range(0)), iter(range(1 << 70)),
    reversed([]), iter(set()), iter({}), iter({}.values()), iter({}.items()),
)))  # fmt: skip
"""Iterators of which a copy gives the same once more."""


class Drained:
    """Items of an iterator, read before it is written.

    Attributes:
        cls: the iterator's class.
        items: what it gave.
        failure: what it raised instead of ending.
    """

    __slots__ = ("cls", "failure", "items")

    def __init__(self, cls: type, items: list[Any], failure: BaseException | None) -> None:
        self.cls = cls
        self.items = items
        self.failure = failure


def drained(iterator: Any, most: int = DEFAULT.items) -> Drained:
    """Read an iterator to its end. What is written for the result is what would be for the iterator.

    Raises:
        Incomparable: it gives more than `most`.
    """
    items: list[Any] = []
    try:
        for item in iterator:
            items.append(item)
            if len(items) > most:
                break
        else:
            return Drained(type(iterator), items, None)
    except BaseException as failure:
        return Drained(type(iterator), items, failure)
    raise Incomparable(f"iterator with more than {most} items")


def _iterator(encoder: Encoder, value: Any) -> None:
    """Write what an iterator gives, to its end; of one that was read before, what it gave then.

    Of iterators over containers a copy is read, so that they are not used up.

    Raises:
        Incomparable: it may not be used up.
    """
    known = encoder.read.get(id(value))
    copied = type(value) in COPIED
    if known is None and not copied and not encoder.consume:
        raise Incomparable("iterator that may not be used up")
    if encoder.begin(wire.ITERATOR, value):
        if known is None:
            found = drained(copy(value) if copied else value, encoder.limits.items)
            found.cls = type(value)
            known = encoder.read[id(value)] = value, found
        _put_drained(encoder, known[1])


def _drained(encoder: Encoder, value: Drained) -> None:
    if encoder.begin(wire.ITERATOR, value):
        _put_drained(encoder, value)


def _put_drained(encoder: Encoder, value: Drained) -> None:
    encoder.text(":".join(name_of(value.cls)))
    encoder.items(value.items)
    encoder.put(value.failure if encoder.messages or value.failure is None else type(value.failure))


def _exception(encoder: Encoder, value: BaseException) -> None:
    held = [BaseException.args.__get__(value)]  # type: ignore[attr-defined]
    held += [member.__get__(value) for member in SAID if isinstance_of(value, member.__objclass__)]
    encoder.out.append(wire.TUPLE)
    encoder.items(held)


def isinstance_of(value: Any, cls: type) -> bool:
    """`isinstance` without asking `__class__`."""
    return any(base is cls for base in mro_of(type(value)))


SAID = tuple(
    attributes_of(cls)[name]
    for cls, name in ((OSError, "filename"), (OSError, "filename2"), (StopIteration, "value"), (SystemExit, "code"))
)
"""What some exceptions hold besides their arguments."""


def _as(plain: Any) -> Put:
    """Write what `plain` makes of an instance: the same value of the built-in class."""
    return lambda encoder, value: encoder.put(plain(value))


def _sequence(iterate: Any) -> Put:
    def read(encoder: Encoder, value: Any) -> None:
        encoder.out.append(wire.TUPLE)
        encoder.items(list(iterate(value)))

    return read


def _elements(iterate: Any) -> Put:
    def read(encoder: Encoder, value: Any) -> None:
        encoder.out.append(wire.FROZENSET)
        encoder.unordered(list(iterate(value)))

    return read


def _read_dict(encoder: Encoder, value: Any) -> None:
    encoder.out.append(wire.PAIRS)
    put_pairs(encoder, list(dict.keys(value)), list(dict.values(value)))


_READERS: dict[int, Put] = {
    id(int): _as(lambda value: int.__add__(value, 0)), id(float): _as(float.__float__),
    id(complex): _as(complex.__pos__), id(str): _as(str.__str__),
    id(bytes): _as(lambda value: bytes.__getitem__(value, slice(None))),
    id(bytearray): _as(lambda value: bytes(bytearray.__getitem__(value, slice(None)))),
    id(tuple): _sequence(tuple.__iter__), id(list): _sequence(list.__iter__), id(set): _elements(set.__iter__),
    id(frozenset): _elements(frozenset.__iter__), id(dict): _read_dict,
}  # fmt: skip
"""What writes that which instances of subclasses of a built-in class hold."""
_FIXED = [_READERS[id(cls)] for cls in (int, float, complex, str, bytes, tuple, frozenset)]

PUT[id(Drained)] = _drained
