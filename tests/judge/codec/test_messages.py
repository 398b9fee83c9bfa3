"""The bytes of messages, pinned: recorded calls are kept on disk and have to be equal to those of a later version."""

from __future__ import annotations

import array
import collections
import datetime
import hashlib
import itertools
import pathlib
import random
import threading
import types
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bakeoff.judge.codec import decode, encode, parse
from bakeoff.judge.codec.tree import Writer

from . import values
from .values import TRICKY, Items, Pair, Plain, Point, Remembers, Slotted, Text

HERE = Path(__file__)


class Table(dict[Any, Any]):
    pass


class Bag(set[Any]):
    pass


class Ring(collections.deque[Any]):
    pass


class Blob(bytearray):
    pass


class Chance(random.Random):
    pass


class Real(float):
    pass


class Phase(complex):
    pass


class Raw(bytes):
    pass


class Frozen(frozenset[Any]):
    pass


class Wide:
    __slots__ = ("__dict__", "one", "two")

    def __init__(self) -> None:
        self.two = 2
        self.three = [3]

    @classmethod
    def made(cls) -> None:
        pass


def failing() -> Iterator[int]:
    yield 1
    raise ValueError("later")


def marked(failure: BaseException) -> BaseException:
    failure.mark = [1]  # type: ignore[attr-defined]
    return failure


def aliased() -> Any:
    point, part = Point([1], None), list[Any]([2])
    part.append(part)
    return {"a": point, "b": [point, point.x, part], (1, 2): {frozenset("ab"), (1, "x"), None, 2.5}}


OF_THIS_PYTHON = (pathlib.PurePath, threading.Condition, threading.Event)
"""Classes whose module or attributes are others in another version of Python."""
UNSEEN = frozenset(
    f"{module}:{name}" for module in (__name__, values.__name__)
    for name in ("Wide.made", "Colour", "Bits", "Number", "Point", "Slotted", "Pair", "Int", "Text", "Items", "Failure",
                 "Plain", "Holder", "Remembers", "function", "other_function", "Table", "Bag", "Ring", "Blob", "Chance",
                 "Real", "Phase", "Raw", "Frozen", "Wide")
)  # fmt: skip
"""What has code here: that is compiled to other bytes by another version of Python."""


def more() -> list[Any]:
    """Further values; made anew each time, as iterators are used up."""
    return [
        Table({"a": [1]}), Bag("abc"), Bag(range(20)), Ring([1], 3), Blob(b"ab"), Chance(3), Real(1.5), Phase(1j), Raw(b"a"),
        Frozen("ab"), Wide(), Wide.made, Wide().made, aliased(), marked(KeyError(1)), marked(OSError(2, "no", "a")),
        iter([1, 2]), iter((1, 2)), (n for n in range(3)), failing(), map(str, [1]), zip("ab", [1, 2], strict=True), enumerate("a"),
        reversed([1]), iter({1: 2}), itertools.chain([1], "a"), collections.ChainMap({1: 2}), array.array("i", [1, 2]),
        memoryview(bytearray(b"abcd")).cast("H"), memoryview(b"ab"), zoneinfo.ZoneInfo("UTC"), types.SimpleNamespace(b=1, a=2),
        collections.OrderedDict(b=1, a=2), collections.defaultdict(list, a=[1]), collections.Counter("aab"),
        datetime.datetime(2020, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC")), {}.fromkeys, [].append, "a".join, print,
        Remembers(), Slotted, Text("\ud800"), Items([Pair(1, [2])]), [Plain(x=1), Plain(x=1)], {Plain(x=1), Plain(x=2)},
        {Slotted(1, 2), Slotted(1, 3), "a", b"a", 1, None, (1,), 2.5}, {"a": {"b": {"c": [None, True, 1, 1.5, "", b""]}}},
        ["a" * 300, "\x00", "ä", "\U0001f600"] * 3, [1.5, float("inf"), -0.0, 2.0] * 2, [None] * 9, [1, True] * 9,
        [2**70] * 9, list(range(-200, 1100, 7)), {n: str(n) for n in range(20)}, set("abcdefghij"), {b"a", b"b"} | set(range(9)),
        slice(1, [2], None), range(10**30), bytearray(300), b"\xff" * 300, -1, 127, 128, -129, 10**400, type(None), type(...),
    ]  # fmt: skip


def lines(found: list[Any]) -> list[str]:
    """A line for each value: its type, digests of its message and of that as it is written again after parsing."""
    written = []
    for value in found:
        data = encode(value, unseen=UNSEEN)
        written.append(f"{type(value).__name__} {digest(data)} {digest(Writer().message(parse(data)))}")
    return written


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def test_the_bytes_of_messages_stay_as_they_are() -> None:
    found = lines([value for value in TRICKY if not isinstance(value, OF_THIS_PYTHON)] + more())
    assert found == HERE.with_name("messages.txt").read_text().splitlines()


def test_further_values_come_back() -> None:
    for value in more():
        data = encode(value, unseen=UNSEEN)
        back = decode(data)
        if not isinstance(value, Iterator):  # those come back as what iterates over what they gave
            assert type(back) is type(value)
            assert encode(back, unseen=UNSEEN) == data


def test_the_bytes_of_arrays_stay_as_they_are() -> None:
    numpy = pytest.importorskip("numpy")
    numbers = numpy.arange(6)
    frozen = numpy.arange(3)
    frozen.setflags(write=False)
    found = lines([
        numbers, numbers.reshape(2, 3), numpy.array(6.5), numpy.array([]), numpy.array(["a", "bc"]),
        numpy.array(["a", None], dtype=object), numpy.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), frozen,
        numpy.array(["2020-01-01"], dtype="datetime64[D]"), numpy.int64(1), numpy.bool_(1), numpy.str_("a"),
        numpy.dtype("i4"), [numbers, numbers[2:5], numbers.copy(), numbers],
    ])  # fmt: skip
    assert found == HERE.with_name("arrays.txt").read_text().splitlines()
