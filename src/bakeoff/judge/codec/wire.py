"""The words that messages are written in.

A message is the version, then one value: a tag of one byte and what the tag says follows. Whole numbers are unsigned
LEB128, texts are UTF-8 with lone surrogates passed, after their length. Values that can be changed are numbered in the
order in which they begin; a later occurrence of one is its number. Values that cannot be changed never are.
"""

from __future__ import annotations

import struct
import sys

VERSION = b"\x01"

NONE, TRUE, FALSE, ELLIPSIS, NOT_IMPLEMENTED = b"N", b"1", b"0", b".", b"!"
INT, FLOAT, COMPLEX, TEXT, BYTES = b"i", b"f", b"c", b"s", b"b"
TUPLE, FROZENSET, RANGE, SLICE = b"t", b"z", b"r", b"/"
LIST, SET, DICT, BYTEARRAY = b"l", b"S", b"d", b"B"
CLASS, FUNCTION, METHOD, MODULE = b"C", b"F", b"M", b"m"
ENUM, LISTED, LISTED_MUTABLE, ITERATOR = b"e", b"x", b"X", b"I"
OBJECT, OBJECT_FIXED, BARE, NAMED = b"O", b"o", b"@", b"n"
AGAIN = b"^"
PAIRS = b"p"
"""What an instance of a dict's subclass holds: keys, then values."""

NUMBERED = frozenset((LIST, SET, DICT, BYTEARRAY, CLASS, LISTED_MUTABLE, ITERATOR, OBJECT, BARE))
"""Tags of what can be changed, or is worth naming once only."""

MIXED, INTS, FLOATS, TEXTS, BOOLS = b"*", b"q", b"d", b"s", b"?"
"""How the items of a sequence are written: each by itself, or all of them at once, which `PACK` or more of one type are
(whole numbers where all take 64 bits)."""
PACK = 8

DOUBLE = struct.Struct("<d")


class Limits:
    """Limits of one message.

    Attributes:
        nodes: values, counted again wherever an immutable one occurs again.
        size: bytes.
        depth: values inside each other.
        items: what is read of one generator or iterator.
    """

    __slots__ = ("depth", "items", "nodes", "size")

    def __init__(self, nodes: int = 1_000_000, size: int = 32 << 20, depth: int = 1_000, items: int = 10_000) -> None:
        self.nodes = nodes
        self.size = size
        self.depth = depth
        self.items = items


DEFAULT = Limits()


class Incomparable(Exception):
    """A value has no bytes that stand for it.

    Attributes:
        kind: what it is: `function`, `lock`, `file`, `unbounded iterator`, `type mmap.mmap`, `more than 5 nodes`...
        path: where it stands in the value, as in `[3].name`.
    """

    def __init__(self, kind: str, path: str = "") -> None:
        super().__init__(kind, path)
        self.kind = kind
        self.path = path

    def below(self, step: str) -> Incomparable:
        """The same, found one step further down."""
        self.path = step + self.path
        return self

    def __str__(self) -> str:
        return f"{self.kind} at {self.path or 'the top'}"


class Malformed(ValueError):
    """Bytes that are no message, hold more than is allowed, or a value that cannot be made here."""


def number(value: int) -> bytes:
    """A whole number of at least 0."""
    if value < 128:
        return _SHORT[value]
    pieces = bytearray()
    while value > 127:
        pieces.append(value & 127 | 128)
        value >>= 7
    pieces.append(value)
    return bytes(pieces)


_SHORT = [bytes((value,)) for value in range(128)]


def int_bytes(value: int) -> bytes:
    """A whole number of any size, two's complement."""
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return INT + number(len(data)) + data


def shown_of(span: range) -> tuple[int, int, int]:
    """Start, stop and step of a range, the same for all that give the same numbers, as `==` of ranges has it."""
    start, stop, step = span.start, span.stop, span.step
    count = max(0, (stop - start + step - (1 if step > 0 else -1)) // step)  # its len() may be too large for one
    if count < 2:
        return (start, start + 1, 1) if count else (0, 0, 1)
    return start, start + count * step, step


class room:
    """Let functions of ours call each other so deep that `depth` values can stand inside each other."""

    __slots__ = ("before", "depth")

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __enter__(self) -> None:
        self.before = sys.getrecursionlimit()
        sys.setrecursionlimit(self.before + 4 * self.depth + 200)

    def __exit__(self, *raised: object) -> None:
        sys.setrecursionlimit(self.before)
