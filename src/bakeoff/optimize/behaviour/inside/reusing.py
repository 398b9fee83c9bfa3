"""Calls made with the objects of earlier calls: the caller changed its list, and hands it over once more.

Whoever keeps results by the identity of an argument gives an old answer then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Set
from typing import Any

from . import writeback

HEAP = 1 << 9
"""Flag of types that a class statement made."""


class Reused:
    """One object of each type for each argument, filled anew for each call.

    Args:
        codec: the module.
        encode: bytes of a call, as the codec makes them without using up iterators.
        added: attributes that the candidate gives instances, see `codec.decode`: they stay as earlier calls left them.
    """

    def __init__(self, codec: Any, encode: Any, added: Mapping[str, Mapping[str, str]]) -> None:
        self.codec = codec
        self.encode = encode
        self.added = added
        self.kept: dict[tuple[int | str, type], Any] = {}

    def filled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same call with earlier objects; as it is where that would be another call."""
        try:
            asked = self.encode((args, kwargs))
            same = (
                tuple(self._earlier(place, value) for place, value in enumerate(args)),
                {name: self._earlier(name, value) for name, value in kwargs.items()},
            )
            return same if self.encode(same) == asked else (args, kwargs)
        except (self.codec.Incomparable, RecursionError):
            return args, kwargs

    def _earlier(self, place: int | str, value: Any) -> Any:
        kind = type(value)
        kept = self.kept.setdefault((place, kind), value)
        if writeback.is_table(value):
            return _filled_table(kept, value)
        own = writeback.own_of(kind, self.added)
        if own and is_changeable(kind):
            return _with_own(kept, value, own)
        if kept is not value:
            _fill(kept, value)
        return kept if _content(kept) is not None else value


def _filled_table(kept: Any, value: Any) -> Any:
    """The earlier table of pandas with the content of the new one; the new one where it cannot take that."""
    try:
        if kept is not value:
            writeback.fill_table(kept, value)
    except (ValueError, TypeError, AttributeError):
        return value
    return kept


def _content(value: Any) -> Any:
    """Container of a value's content, where callers can exchange it: what is hashed by its content stays as it is."""
    kind: Any = type(value)
    if kind in (list, bytearray, dict, set, deque):
        return value
    if not is_changeable(kind) or isinstance(value, type):
        return None
    return object.__getattribute__(value, "__dict__") if kind.__dictoffset__ else None


def is_changeable(kind: Any) -> bool:
    """Whether callers can give instances other attributes: not where they are hashed by these, or refuse it."""
    hashed = kind.__hash__ not in (object.__hash__, None)
    return bool(kind.__flags__ & HEAP) and not hashed and kind.__setattr__ is object.__setattr__


def _with_own(kept: Any, value: Any, own: Set[str]) -> Any:
    """The earlier instance with the attributes of the new one, but for its own: who keeps results there keeps them."""
    old, new = (writeback.attributes(each) or {} for each in (kept, value))
    for name in old.keys() - new.keys() - own:
        object.__delattr__(kept, name)
    for name in new.keys() - own if kept is not value else ():
        object.__setattr__(kept, name, new[name])
    return kept


def _fill(kept: Any, value: Any, deep: bool = True) -> None:
    """Give an object the content of another of its type; what an instance holds is filled, too, one level deep."""
    old, new = _content(kept), _content(value)
    if old is None or new is None:
        return
    if type(old) in (list, bytearray):
        old[:] = new
        return
    held = {name: _held(old.get(name), item) for name, item in new.items()} if deep and new is not value else new
    old.clear()
    if type(old) is deque:
        old.extend(held)
    else:
        old.update(held)


def _held(kept: Any, value: Any) -> Any:
    """The object that an attribute was, with what it is now; as it is where that cannot be."""
    if type(kept) is not type(value) or kept is value or _content(value) is None:
        return value
    _fill(kept, value, deep=False)
    return kept
