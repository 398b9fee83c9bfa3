"""Hostile inputs: what a caller could give as well, beside what was seen, and where a careless rewrite shows."""

from __future__ import annotations

import copy
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any


class Odd:
    """What all of these share: a text that is the same for copies."""

    def __repr__(self) -> str:
        return type(self).__name__


class Alike(Odd):
    """Equal to everything, and cannot be hashed, as `unittest.mock.ANY`."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class AlikeHashed(Alike):
    """Equal to everything whatever its hash is."""

    def __hash__(self) -> int:  # type: ignore[override]
        return 7


class Raising(Odd):
    """Cannot be compared, and hashed only with an error that is no TypeError."""

    def __eq__(self, other: object) -> bool:
        raise LookupError

    def __hash__(self) -> int:
        raise RuntimeError


class Once(Odd):
    """Can be gone through once, though it is no iterator itself."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = iter(items)

    def __iter__(self) -> Iterator[Any]:
        return self.items

    def __hash__(self) -> int:
        return 11  # so that sets keep their order when they are copied


NAN, INF = float("nan"), float("inf")
ODD = (bytearray(b"x"), {1}, frozenset({1}), Alike(), AlikeHashed(), Raising(), Once([1, 2]), defaultdict(int))
"""Equal to what has another hash or none, comparing or hashing with an error, changing when it is looked at."""
ATOMS = (None, True, -1, 0, 2.5, NAN, -INF, 1e16, "", "b", b"x", (1,), [1], {"k": 1}, object, *ODD)
"""What may stand in place of any value; lists and dicts cannot be keys, and most of them cannot be compared."""
PAIRS = (
    [bytearray(b"x"), b"x"], [b"x", bytearray(b"x")], [{1}, frozenset({1}), {1}], [Alike(), 1, "a"], [1, Alike(), 2],
    [AlikeHashed(), 1, 2], [1, 2, AlikeHashed()], [1, Raising(), 2], [Raising(), 1], [Once([1, 2]), Once([1])],
    [defaultdict(int), defaultdict(list)],
)  # fmt: skip
"""Lists whose items are equal to one another, or do something, in ways that no hash tells."""
WHOLES = (
    None, 0, 2.5, "", "ab", (), [], {}, [NAN, NAN], [1, "a"], ["a", 1], [[1], [1]], [0.1, 1e16, 1.0], [True, 1],
    Once([1, 2]), Once([]), defaultdict(int), *PAIRS,
)  # fmt: skip
MOST_LINES = 20_000
MORE_LINES = 20 * MOST_LINES
"""For a version whose helpers have lines that the original has not."""


class TooLong(BaseException):
    """A call that goes on and on."""


def variants(arguments: Sequence[Any], nested: int = 2) -> Iterator[list[Any]]:
    """The same arguments with one of them, or one value inside of it, replaced."""
    for at, value in enumerate(arguments):
        for other in (*WHOLES, *_others(value, nested)):
            yield [*arguments[:at], other, *arguments[at + 1 :]]
    lists = [at for at, value in enumerate(arguments) if type(value) is list and value]
    for change in (_float, lambda each: [each], lambda each: NAN):  # in all of them at once
        if lists:
            yield [list(map(change, value)) if at in lists else value for at, value in enumerate(arguments)]


def _float(value: Any) -> Any:
    return float(value) + 0.1 if type(value) is int else value


def _others(value: Any, nested: int) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        items = list(value)
        yield from (tuple(items), items, dict(enumerate(items)), [_float(each) for each in items], items * 2)
        for at in sorted({0, len(items) // 2, len(items) - 1}) if items else ():
            inner = _others(items[at], nested - 1) if nested else ()
            for other in (*ATOMS, *inner):
                yield type(value)([*items[:at], other, *items[at + 1 :]])
    elif isinstance(value, dict):
        yield from (list(value.items()), list(value), {**value, None: None}, defaultdict(int, value), defaultdict(int))
        for key in list(value)[:2]:
            yield {each: old for each, old in value.items() if each != key}
            inner = _others(value[key], nested - 1) if nested else ()
            for other in (*ATOMS, *inner):
                yield {**value, key: other}
    elif isinstance(value, str):
        yield from (list(value), value.encode(), value.upper() + "é", None)
    else:
        yield from ATOMS


def outcome(function: Callable[..., Any], arguments: Sequence[Any], most: int = MOST_LINES) -> Any:
    """What a call gives or raises, with types, and what it leaves of its arguments; None where it goes on and on."""
    given = copy.deepcopy(list(arguments))
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > most:
            raise TooLong
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        result: Any = typed(function(*given))
    except TooLong:
        return None
    except Exception as failure:
        result = f"raises {type(failure).__name__}"
    finally:
        sys.settrace(before)
    return result, typed(given)


def typed(value: Any, depth: int = 6) -> Any:
    """A value such that equal things of different types are different."""
    name = type(value).__name__
    if not depth:
        return name
    if isinstance(value, list | tuple):
        return name, [typed(each, depth - 1) for each in value]
    if isinstance(value, set | frozenset):
        return name, sorted(map(repr, (typed(each, depth - 1) for each in value)))
    if isinstance(value, dict):
        return name, [(typed(key, depth - 1), typed(each, depth - 1)) for key, each in value.items()]
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return name, typed(vars(value), depth - 1)
    if hasattr(value, "__next__"):
        return name, [typed(each, depth - 1) for _, each in zip(range(1000), value, strict=False)]
    return name, repr(value)
