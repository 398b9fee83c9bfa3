"""Later use of a result: callers change what they got, read lazy results late, keep earlier ones while they call again.

A result that is shared with a cache, with the module or with the next call shows only then.
"""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterator, MappingView
from contextlib import suppress
from itertools import islice
from types import MappingProxyType
from typing import Any

from . import writeback
from .reusing import is_changeable

LAZY, MOVED = "lazy", "a result of its changed with the next call"
"""Messages of a call: its result is lazy; it is not the same after another call."""

MOST = 1000
"""Items that a list is made longer by."""
FIRST = 8
"""Items of a result that are looked at for what is lazy, and for instances."""
PLAIN = (type(None), bool, int, float, str)

VIEWS = (MappingView, MappingProxyType, memoryview)
"""What looks at another object whenever it is read."""

Made = Callable[[bytes], tuple[Any, Any, Any]]
"""Makes an encoded call: what it returned, what it raised (one is None), and the arguments it was given."""


class LateReader:
    """Makes calls and uses what they give as callers may.

    Args:
        made: makes a call.
        encode: bytes of a value, using iterators up.
        as_it_is: the same without using them up.
    """

    def __init__(self, made: Made, encode: Callable[[Any], bytes], as_it_is: Callable[[Any], bytes]) -> None:
        self.made = made
        self.encode = encode
        self.as_it_is = as_it_is
        self.earlier: bytes | None = None

    def answer(self, call: bytes) -> tuple[dict[str, Any], bytes]:
        """What the call gives in the end: a lazy result once its arguments were changed, others at a second call.

        An iterator is read a second time, its arguments changed between its first item and the others.

        The header's `kind` is `counted` where nothing of the result can change: then there is nothing to compare.
        Passes on Incomparable: something has no bytes.
        """
        result, raised, given = self.made(call)
        if raised is not None or not (lazy(result) or _changeable(result)):
            self.earlier = call
            return {"kind": "counted"}, b""
        if lazy(result):
            disturb(given)
            self.earlier = call
            found = (result, *self._halfway(call)) if isinstance(result, Iterator) else result
            return {"kind": "return", "type": type(result).__name__, "message": LAZY}, self.encode(found)
        before, moved = self.as_it_is(result), False
        if self.earlier is not None and self.earlier != call:
            self.made(self.earlier)
            moved = self.as_it_is(result) != before
        self.earlier = call
        disturb(result)
        again, raised, _ = self.made(call)
        header = {"kind": "return" if raised is None else "raise", "message": MOVED if moved else ""}
        found = again if raised is None else type(raised)
        return {**header, "type": type(found).__name__}, self.encode(found)

    def _halfway(self, call: bytes) -> tuple[Any, ...]:
        """The first item of an iterator, and what is left of it once the arguments were changed behind that.

        Where arguments are iterators: what was left in them at the first item, too.
        """
        result, _, given = self.made(call)
        try:
            first = [next(result)]
        except Exception as failure:
            return (type(failure),)
        disturb(given)
        if not any(map(writeback.is_iterator, writeback.nodes(given))):
            return (first, result)
        ahead, _, left = self.made(call)
        with suppress(Exception):
            next(ahead)
        return first, result, left


def lazy(result: Any) -> bool:
    """Whether a result is an iterator or a view of another object, or a tuple, list, dict or instance with one."""
    held = _top(result)
    if not isinstance(result, (*writeback.ATOMS, *VIEWS)) and not writeback.is_iterator(result):
        held += list((writeback.attributes(result) or {}).values())[:FIRST]
    return any(isinstance(each, (Iterator, *VIEWS)) or _is_view(each) for each in held)


def _top(result: Any) -> list[Any]:
    """A result, and the first items of a tuple, list or dict."""
    if type(result) in (tuple, list):
        return [result, *result[:FIRST]]
    return [result, *islice(result.values(), FIRST)] if type(result) is dict else [result]


def _is_view(value: Any) -> bool:
    """Whether an array's memory belongs to something that is no array."""
    owner = value
    while _is_array(owner):
        owner = owner.base
    return _is_array(value) and isinstance(owner, (memoryview, bytearray, array))


def _changeable(result: Any) -> bool:
    return any(map(_plain_attribute, _top(result))) or any(
        _is_container(each) or writeback.is_table(each) for each in writeback.nodes(result)
    )


def _plain_attribute(value: Any) -> str:
    """Name of an attribute that a caller can give an instance another value of; empty where there is none."""
    kind = type(value)
    if isinstance(value, writeback.ATOMS) or not is_changeable(kind):
        return ""
    held = writeback.attributes(value) or {}
    return next((name for name in sorted(held) if type(held[name]) in PLAIN), "")


def _is_container(value: Any) -> bool:
    return type(value) in (list, dict, set, bytearray, deque, array) or _is_array(value)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray


def disturb(value: Any) -> None:
    """Change every container in a value, and instances at its top, as a caller may with what is its own."""
    for each in _top(value):
        name = _plain_attribute(each)
        if name:
            object.__setattr__(each, name, "bakeoff")
    for each in writeback.nodes(value):
        kind = type(each)
        if kind in (list, deque):
            # So many that what is reckoned from all of them, such as a mean, is another; and one that is new.
            more = [each[0], *[each[-1]] * min(len(each), MOST), *_fresh(each[-1])] if each else [None]
            each.extend(more)
        elif kind in (bytearray, array):
            _disturb_bytes(each)
        elif kind is dict:
            each["bakeoff"] = next(iter(each.values()), None)
        elif kind is set:
            each.add("bakeoff")
        elif _is_array(each) and each.size and each.flags.writeable:
            flat = each.reshape(-1)
            flat[:] = flat[:1] if (flat != flat[:1]).any() else _other(flat[0])
        elif writeback.is_table(each):
            _disturb_table(each)


def _disturb_table(each: Any) -> None:
    """Other `attrs` of a Series or DataFrame, and another name; an array of pandas stays as it is."""
    if hasattr(each, "_update_inplace"):
        each.attrs["bakeoff"] = 1
        if each.ndim == 1:
            each.name = "bakeoff"


def _fresh(item: Any) -> list[Any]:
    """A value like an item of a list, and most likely in no such list."""
    if type(item) in (int, float):
        return [item + 1013]
    return [f"{item}bakeoff"] if type(item) is str else []


def _disturb_bytes(each: Any) -> None:
    """Make it longer; while a view of it lives, it is of one length, and another number stands in it."""
    number = 1 if type(each) is array and each.typecode in "fd" else 0
    try:
        each.append("x" if type(each) is array and each.typecode == "u" else number)
    except BufferError:
        if each and (type(each) is bytearray or each.typecode not in "fdu"):
            each[0] ^= 1


def _other(item: Any) -> Any:
    """Another value of an array's type, where all items are alike; the same where there is none."""
    try:
        return type(item)(not item)
    except (TypeError, ValueError):
        return item
