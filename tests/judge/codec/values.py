"""Values that are easily taken for each other, and classes that lie."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import logging
import operator
import pathlib
import random
import re
import struct
import threading
import types
import uuid
from typing import Any


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Bits(enum.Flag):
    ONE = 1
    TWO = 2


class Number(enum.IntEnum):
    ONE = 1


@dataclasses.dataclass
class Point:
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    x: Any
    y: Any = None


Pair = collections.namedtuple("Pair", "x y")


class Int(int):
    pass


class Text(str):
    __slots__ = ()


class Items(list):
    pass


class Failure(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} {two}")
        self.one = one


class Gone(OSError):
    """One that `OSError.__new__` leaves without arguments, as there is an `__init__`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)


class Unlike(UnicodeDecodeError):
    """One whose arguments are not those that its C part was made with."""

    def __init__(self, said: str) -> None:
        super().__init__("ascii", b"\xff", 0, 1, said)
        self.args = (said,)

    def __str__(self) -> str:
        return self.args[0]


class Plain:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def method(self) -> None:
        pass


class Holder:
    """What many classes hold besides their values."""

    def __init__(self, seed: int, text: str = "") -> None:
        self.random = random.Random(seed)
        self.ids = itertools.count(seed)
        self.lock = threading.Lock()
        self.log = logging.getLogger("bakeoff.tests")
        self.out = stream(text)


def stream(text: str) -> io.StringIO:
    made = io.StringIO(newline="")
    made.write(text)
    return made


def drawn(times: int) -> random.Random:
    made = random.Random(1)
    for _ in range(times):
        made.gauss(0, 1)
    return made


class Remembers:
    def __init__(self) -> None:
        self.base = 2

    @functools.cached_property
    def square(self) -> int:
        return self.base**2


MISSING = object()
OTHER = object()


def function() -> int:
    return 1


def other_function() -> int:
    return 2


def nan(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def looping(kind: str) -> Any:
    if kind == "list":
        made: Any = []
        made.append(made)
        return made
    if kind == "dict":
        made = {}
        made["me"] = made
        return made
    made = Plain()
    made.me = made
    return made


def shared() -> Any:
    part: list[int] = []
    return [part, part]


TRICKY: list[Any] = [
    None, True, 1, 1.0, 1 + 0j, "1", b"1", bytearray(b"1"), memoryview(b"1"), Int(1), Number.ONE, decimal.Decimal(1),
    fractions.Fraction(1), 0, False, 0.0, -0.0, nan(0x7FF8000000000000), nan(0x7FF8000000000001),
    nan(0xFFF8000000000000), complex(0, -0.0), complex(0, 0.0), "", b"", (), [], {}, set(), frozenset(), range(0),
    {1}, {1.0}, {True}, frozenset({1}), [1], (1,), {1: None}, {1.0: None}, {1: 2, 3: 4}, {3: 4, 1: 2},
    collections.OrderedDict({1: 2, 3: 4}),
    collections.Counter({1: 2, 3: 4}), collections.defaultdict(int, {1: 2, 3: 4}),
    collections.deque(), collections.deque(maxlen=2), Items(), Pair(1, 2), (1, 2), Point(1, 2), Point(1, 2.0),
    Slotted(1, 2), Plain(x=1, y=2), types.SimpleNamespace(x=1, y=2), Colour.RED, Colour.BLUE, Colour, Bits.ONE,
    Bits.ONE | Bits.TWO, ..., NotImplemented, "\ud800", "\udc80", Text("1"), slice(2), slice(None, 1), range(1),
    datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, fold=1),
    datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.time(1), datetime.timedelta(1),
    datetime.timezone(datetime.timedelta(0), "x"), datetime.UTC, uuid.UUID(int=1), pathlib.PurePosixPath("a"),
    pathlib.Path("a"), re.compile("a"), re.compile("a", re.IGNORECASE), re.compile(b"a"), ValueError("a"),
    ValueError("b"), KeyError("a"), OSError(2, "no", "a"), OSError(2, "no", "b"), StopIteration(1), SystemExit(1),
    Failure(1, 2), int, bool, list, Point, len, function, other_function, re, functools.partial(function),
    functools.partial(function, 1), MISSING, OTHER, object(), looping("list"), looping("dict"), looping("object"),
    [[]], shared(), [[], []], decimal.Decimal("1.0"), decimal.Decimal("NaN"), decimal.Decimal("-0"), 2**63, 2**64,
    -(2**63), list(range(8)), [float(n) for n in range(8)], [*range(7), 2**63], ["a"] * 8, [True] * 8, [1] * 8,
    list("ab") * 4, tuple(range(8)), set(range(8)), frozenset(range(8)), [object()], [[object()]], {"a": 1}, {b"a": 1},
    Point(1, 2).__eq__, {1: 1}.keys(), {1: 1}.values(), {1: 1}.items(), ExceptionGroup("a", [ValueError(1)]),
    drawn(0), drawn(1), drawn(2), random.Random(2), itertools.count(1), itertools.count(1, 2), itertools.count(1.0),
    threading.Lock(), threading.RLock(), threading.Condition(), threading.Event(), stream(""), stream("a"),
    io.StringIO("a"), io.StringIO(), io.BytesIO(), io.BytesIO(b"a"), operator.itemgetter(1), operator.itemgetter(1, 2),
    operator.attrgetter("x"), operator.attrgetter("x.y"), operator.methodcaller("x"), operator.methodcaller("x", 1),
    operator.methodcaller("x", y=1), types.MappingProxyType({1: 2}), logging.getLogger("bakeoff.tests"),
    logging.getLogger(), Holder(1), Holder(2), Holder(1, "a"),
]  # fmt: skip
