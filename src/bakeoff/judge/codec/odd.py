"""Odd objects: what a caller may give besides plain values, of classes that every process knows by one name.

A hostile call names one of them, and the process that makes the call has it here. They show where a rewrite asks for a
hash in place of a comparison, looks twice at what can be looked at once, or takes a subclass for its base.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterator, Sequence
from typing import Any

NAME = "_bakeoff_odd"
"""The name of this module, however it was loaded."""


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


class Stopping(Odd):
    """Ends what goes on around it: comparing it raises StopIteration, as a `next` without a default does."""

    def __eq__(self, other: object) -> bool:
        raise StopIteration

    __lt__ = __gt__ = __add__ = __radd__ = __eq__

    def __hash__(self) -> int:
        return 5


class Once(Odd):
    """Can be gone through once, though it is no iterator itself."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = iter(items)

    def __iter__(self) -> Iterator[Any]:
        return self.items

    def __hash__(self) -> int:
        return 11  # so that sets keep their order when they are copied


class Text(str):
    """A text that is equal to its lower and upper case, with the hash of `str`."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str(self).lower() == str(other).lower()

    __hash__ = str.__hash__


class Level(enum.IntEnum):
    """Numbers that are shown as words."""

    LOW = 1
    HIGH = 2


for _each in (Odd, Alike, AlikeHashed, Raising, Stopping, Once, Text, Level):
    _each.__module__ = NAME
sys.modules.setdefault(NAME, sys.modules[__name__])
