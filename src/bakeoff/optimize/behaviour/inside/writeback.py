"""Changes that a call made to its arguments in another process, made to the real arguments."""

from __future__ import annotations

import io
import sys
import types
import weakref
from array import array
from collections import OrderedDict, deque
from collections.abc import Container, Iterator, Mapping
from copy import copy
from itertools import count
from typing import Any

# They go over by name: through a module or a wrapped function the whole interpreter would be reached.
NAMED = (
    type, types.ModuleType, types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.GenericAlias,
    types.UnionType,
)  # fmt: skip
BOUND = (types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType)
STREAMS = (io.StringIO, io.BytesIO)
BUFFERS = (*STREAMS, array, memoryview)
"""What calls change in place though no container and no attribute shows it."""
READ = 1 << 20
"""Numbers that a call may take of a counter."""
NATIVE = ("builtins", "itertools", "_collections", "re")
ATOMS = (type(None), bool, int, float, complex, str, bytes, range, *NAMED)


def nodes(value: Any, added: Mapping[str, Mapping[str, str]] | None = None) -> list[Any]:
    """Mutable objects and iterators in a value, in an order that depends on the value alone.

    Elements of sets are left out, and what attributes hold that a candidate added (see `codec.decode`).
    """
    found: list[Any] = []
    seen: set[int] = set()
    kept: list[Any] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, ATOMS) or id(item) in seen:
            continue
        seen.add(id(item))
        kept.append(item)
        if _changeable(item):
            found.append(item)
        waiting.extend(reversed(list(_parts(item, own_of(type(item), added) if added else frozenset()))))
    return found


def _changeable(item: Any) -> bool:
    if (
        isinstance(item, (list, dict, set, bytearray, deque, *BUFFERS))
        or _is_array(item)
        or _is_element(item)
        or is_iterator(item)
    ):
        return True
    if _is_chance(item) or _is_sign(item):
        return _is_chance(item)
    if _of_library(item):
        return is_table(item)
    return not isinstance(item, (tuple, frozenset)) and attributes(item) is not None


def is_iterator(item: Any) -> bool:
    """Whether a value is an iterator of Python itself: a generator, `map`, one over a list."""
    kind = type(item)
    return kind.__module__ in NATIVE and hasattr(kind, "__next__") and hasattr(kind, "__iter__")


def _is_array(item: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(item, numpy.ndarray)


def _is_chance(item: Any) -> bool:
    """Whether it is a source of random numbers, whose state no attribute has."""
    plain, numpy = sys.modules.get("_random"), sys.modules.get("numpy.random")
    if plain is not None and isinstance(item, plain.Random):
        return True
    return numpy is not None and isinstance(item, (numpy.BitGenerator, numpy.RandomState))


def _is_element(item: Any) -> bool:
    trees = sys.modules.get("xml.etree.ElementTree")
    return trees is not None and isinstance(item, trees.Element)


def _is_sign(item: Any) -> bool:
    """Whether it is a node of `ast` that holds nothing, as `Load()` and `Add()`: any of them is as good."""
    trees = sys.modules.get("ast")
    return trees is not None and isinstance(item, trees.AST) and not item._fields and not item._attributes


def _of_library(item: Any) -> bool:
    """Whether it belongs to a library that has its own ways to keep what it holds: pandas, and type hints."""
    return str(type(item).__module__).partition(".")[0] in ("pandas", "typing")


def is_table(item: Any) -> bool:
    """Whether it is a Series, a DataFrame or an array of pandas: what calls can change in place."""
    pandas = sys.modules.get("pandas") if _of_library(item) else None
    if pandas is None:
        return False
    return isinstance(item, (pandas.Series, pandas.DataFrame, pandas.api.extensions.ExtensionArray))


def attributes(item: Any) -> dict[str, Any] | None:
    """Attributes set on an instance, slots included; None where nothing can be."""
    found: dict[str, Any] = {}
    any_place = False
    for base in type(item).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in ("__dict__", "__weakref__"):
                continue
            any_place = True
            full = f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            try:
                found[full] = object.__getattribute__(item, full)
            except AttributeError:
                continue
    try:
        held = object.__getattribute__(item, "__dict__")
    except AttributeError:
        return found if any_place else None
    if type(held) is not dict:
        return found if any_place else None
    return found | held


def own_of(kind: type, added: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    """Attributes that a candidate added to a class."""
    classes = (f"{base.__module__}:{base.__qualname__}" for base in kind.__mro__)
    return frozenset(name for cls in classes for name in added.get(cls, ()))


def _parts(item: Any, own: Container[str]) -> Iterator[Any]:
    if isinstance(item, BOUND):
        yield item.__self__
        return
    if isinstance(item, weakref.ref):
        yield item()
        return
    numpy = sys.modules.get("numpy.random")
    if numpy is not None and isinstance(item, (numpy.Generator, numpy.RandomState)):
        yield item._bit_generator
    if _of_library(item):
        return
    if _is_element(item):
        yield item.attrib
        yield from item
    elif isinstance(item, dict):
        for key in _table_of(item).keys(item):
            yield key
            yield dict.__getitem__(item, key)
    elif isinstance(item, (list, tuple, deque)):
        base: Any = next(kind for kind in (list, tuple, deque) if isinstance(item, kind))
        yield from base.__iter__(item)
    elif _is_array(item):
        if item.dtype == object:
            yield from item.ravel().tolist()
        return
    held = None if isinstance(item, (set, frozenset, bytearray)) else attributes(item)
    for name in sorted(held or ()):
        if name not in own:
            yield (held or {})[name]


class Restored:
    """Puts what came back into what was sent.

    Args:
        sent: the nodes of the arguments here.
        came: the same nodes, after the call, as decoded.
        copied: classes of iterators that sending does not use up.

    Raises:
        ValueError: they do not belong together.
    """

    def __init__(self, sent: list[Any], came: list[Any], copied: Container[type] = ()) -> None:
        if len(sent) != len(came) or not all(map(_belong, sent, came)):
            raise ValueError("the arguments came back as something else")
        pairs = list(zip(sent, came, strict=True))
        # What sending used up cannot be filled again: in its place stays what came back, with what is left in it.
        spent = [is_iterator(ours) and type(ours) not in copied and type(ours) is not count for ours in sent]
        self._pairs = [pair for pair, used_up in zip(pairs, spent, strict=True) if not used_up]
        self._real = {id(theirs): ours for ours, theirs in self._pairs}
        self._came = came  # alive: their ids are kept
        self._done: dict[int, Any] = {}

    def write(self) -> None:
        """Make the changes."""
        for ours, theirs in self._pairs:
            self._fill(ours, theirs)

    def real(self, value: Any) -> Any:
        """A decoded value, with the real objects in place of their copies."""
        if isinstance(value, ATOMS):
            return value
        if id(value) in self._real:
            return self._real[id(value)]
        if id(value) in self._done:
            return self._done[id(value)]
        if type(value) in BOUND or type(value) is weakref.ref:
            result = self._referring(value)
        elif type(value) is tuple:
            parts = [self.real(part) for part in value]
            changed = any(a is not b for a, b in zip(parts, value, strict=True))
            result = tuple(parts) if changed else value
        else:
            result = value
            self._done[id(value)] = result
            if _changeable(value):
                self._fill(value, value)
        self._done[id(value)] = result
        return result

    def _referring(self, value: Any) -> Any:
        """A bound method or weak reference, of the real object."""
        if type(value) is weakref.ref:
            referent = value()
            real = self.real(referent)
            return value if real is referent else weakref.ref(real)
        real = self.real(value.__self__)
        if real is value.__self__:
            return value
        return (
            types.MethodType(value.__func__, real) if type(value) is types.MethodType else getattr(real, value.__name__)
        )

    def _fill(self, ours: Any, theirs: Any) -> None:
        if is_iterator(ours):
            if ours is not theirs:
                _advance(ours, theirs)
        elif isinstance(ours, dict):
            table = _table_of(ours)
            items = [(self.real(key), self.real(value)) for key, value in table.items(theirs)]
            table.clear(ours)
            for key, value in items:
                table.__setitem__(ours, key, value)
        elif isinstance(ours, list):
            list.__setitem__(ours, slice(None), [self.real(item) for item in list.__iter__(theirs)])
        elif isinstance(ours, deque):
            items = [self.real(item) for item in theirs]
            ours.clear()
            ours.extend(items)
        elif isinstance(ours, set):
            items = [self.real(item) for item in set.__iter__(theirs)]
            set.clear(ours)
            set.update(ours, items)
        elif isinstance(ours, bytearray):
            if ours is not theirs:
                ours[:] = theirs
        elif isinstance(ours, BUFFERS):
            if ours is not theirs:
                _fill_buffer(ours, theirs)
        elif _is_array(ours):
            if ours is not theirs:
                ours[...] = theirs
            return
        elif is_table(ours):
            if ours is not theirs:
                fill_table(ours, theirs)
            return
        elif _is_chance(ours):
            if ours is not theirs:
                _fill_chance(ours, theirs)
        elif _is_element(ours):
            children = [self.real(child) for child in theirs]
            ours.tag, ours.text, ours.tail, ours.attrib = theirs.tag, theirs.text, theirs.tail, self.real(theirs.attrib)
            ours[:] = children
        if not isinstance(ours, (set, bytearray)):
            self._set(ours, attributes(ours) or {}, attributes(theirs) or {})

    def _set(self, ours: Any, before: dict[str, Any], after: dict[str, Any]) -> None:
        for name in before.keys() - after.keys():
            object.__delattr__(ours, name)
        for name, value in after.items():
            real = self.real(value)
            if name not in before or before[name] is not real:
                object.__setattr__(ours, name, real)


def _table_of(item: dict[Any, Any]) -> type[dict[Any, Any]]:
    """The class whose methods read and change a dictionary: `dict` knows nothing of the order of an OrderedDict."""
    return OrderedDict if isinstance(item, OrderedDict) else dict


def _fill_buffer(ours: Any, theirs: Any) -> None:
    """Give a stream in memory, an `array` or a writable view the content and the place of another."""
    if isinstance(ours, STREAMS):
        base: Any = next(kind for kind in STREAMS if isinstance(ours, kind))
        if theirs.closed:
            base.close(ours)
            return
        base.__setstate__(ours, base.__getstate__(theirs))
    elif isinstance(ours, array):
        array.__setitem__(ours, slice(None), theirs)
    elif not ours.readonly and ours.ndim == 1:
        ours[:] = theirs
    elif not ours.readonly and ours.contiguous:
        ours.cast("B")[:] = theirs.cast("B")


def _fill_chance(ours: Any, theirs: Any) -> None:
    """Have a source of random numbers go on where another one is."""
    plain = sys.modules.get("_random")
    if plain is not None and isinstance(ours, plain.Random):
        plain.Random.setstate(ours, plain.Random.getstate(theirs))
    elif hasattr(ours, "set_state"):
        ours.set_state(theirs.get_state(legacy=False))
    else:
        ours.state = theirs.state


def fill_table(ours: Any, theirs: Any) -> None:
    """Give a Series, DataFrame or array of pandas the content of another, in its place.

    Raises:
        ValueError: an array has other places or another type.
    """
    if hasattr(ours, "_update_inplace"):
        ours._update_inplace(theirs)  # what `inplace=True` of its methods does
        if ours.ndim == 1:
            ours.name = theirs.name
        ours.attrs = theirs.attrs
        ours.flags.allows_duplicate_labels = theirs.flags.allows_duplicate_labels
        return
    if len(ours) != len(theirs) or ours.dtype != theirs.dtype:
        raise ValueError("an array of pandas cannot take what it became")
    ours[:] = theirs


def _belong(ours: Any, theirs: Any) -> bool:
    """Whether one value can be what came back of the other: iterators come back as iterators over a list."""
    return type(ours) is type(theirs) or (is_iterator(ours) and is_iterator(theirs))


def _advance(ours: Any, theirs: Any) -> None:
    """Read an iterator as far as the call has read it in the other process."""
    if type(ours) is count:
        for _ in range(READ):
            if repr(ours) == repr(theirs):
                return
            next(ours)
        return
    left = len(list(theirs))
    for _ in range(len(list(copy(ours))) - left):
        next(ours, None)
    if not left:
        next(ours, None)  # it has told its end
