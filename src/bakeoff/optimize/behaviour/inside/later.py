"""Later use of a result: callers change what they got, read lazy results late, keep earlier ones while they call again.

A result that is shared with a cache, with the module or with the next call shows only then.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from . import writeback

LAZY, MOVED = "lazy", "a result of its changed with the next call"
"""Messages of a call: its result is lazy; it is not the same after another call."""

MOST = 1000
"""Items that a list is made longer by."""

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
            found = (result, self._halfway(call)) if isinstance(result, Iterator) else result
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

    def _halfway(self, call: bytes) -> Any:
        """The first item of an iterator, and what is left of it once the arguments were changed behind that."""
        result, _, given = self.made(call)
        first = []
        try:
            first.append(next(result))
        except Exception as failure:
            return type(failure)
        disturb(given)
        return first, result


def lazy(result: Any) -> bool:
    """Whether a result is an iterator, or a tuple, list or dict that holds one."""
    if isinstance(result, Iterator):
        return True
    held: Any = ()
    if type(result) in (tuple, list):
        held = result[:8]
    elif type(result) is dict:
        held = list(result.values())[:8]
    return any(isinstance(each, Iterator) for each in held)


def _changeable(result: Any) -> bool:
    return any(_is_container(each) for each in writeback.nodes(result))


def _is_container(value: Any) -> bool:
    return type(value) in (list, dict, set, bytearray, deque) or _is_array(value)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray


def disturb(value: Any) -> None:
    """Change every container in a value, as a caller may with what is its own."""
    for each in writeback.nodes(value):
        kind = type(each)
        if kind in (list, deque):
            # So many that what is reckoned from all of them, such as a mean, is another.
            each.extend([each[0], *[each[-1]] * min(len(each), MOST)] if each else [None])
        elif kind is bytearray:
            each.append(0)
        elif kind is dict:
            each["bakeoff"] = next(iter(each.values()), None)
        elif kind is set:
            each.add("bakeoff")
        elif _is_array(each) and each.size and each.flags.writeable:
            flat = each.reshape(-1)
            flat[:] = flat[:1] if (flat != flat[:1]).any() else _other(flat[0])


def _other(item: Any) -> Any:
    """Another value of an array's type, where all items are alike; the same where there is none."""
    try:
        return type(item)(not item)
    except (TypeError, ValueError):
        return item
