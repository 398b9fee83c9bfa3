"""Kinds of values that an option takes. A kind, called with a value, returns it in its final type.

Every kind raises ValueError for a wrong value, with what is allowed, as in `a whole number from 1`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args


@dataclass(frozen=True, slots=True)
class Text:
    """A text.

    Attributes:
        command: whether it is a command for a shell.
    """

    command: bool = False
    empty: bool = False

    def __call__(self, value: Any) -> str:
        """The text.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(value, str) or not (value.strip() or self.empty):
            raise ValueError("a command that is not empty" if self.command else "a text that is not empty")
        return value


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts, as a tuple.

    Attributes:
        command: whether each is a command for a shell, and therefore not empty.
    """

    command: bool = False

    def __call__(self, value: Any) -> tuple[str, ...]:
        """The texts.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise ValueError("a list of texts")
        if self.command and not all(item.strip() for item in value):
            raise ValueError("a list of commands that are not empty")
        return tuple(value)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number, from `least` where that is given."""

    least: int | None = None

    def __call__(self, value: Any) -> int:
        """The number.

        Raises:
            ValueError: it is something else, or smaller.
        """
        if not isinstance(value, int) or isinstance(value, bool) or (self.least is not None and value < self.least):
            raise ValueError("a whole number" if self.least is None else f"a whole number from {self.least}")
        return value


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number.

    Attributes:
        least: it is so much or more.
        above: it is more than that.
        unit: of what, for messages; empty where it has none.
    """

    least: float | None = None
    above: float | None = None
    unit: str = ""

    def __call__(self, value: Any) -> float:
        """The number.

        Raises:
            ValueError: it is something else, or out of its range.
        """
        if (
            not isinstance(value, int | float)
            or isinstance(value, bool)
            or not _is_finite(value)
            or self._is_out(value)
        ):
            raise ValueError(self.allowed)
        return float(value)

    def _is_out(self, value: float) -> bool:
        return (self.least is not None and value < self.least) or (self.above is not None and value <= self.above)

    @property
    def allowed(self) -> str:
        """Allowed values, for messages."""
        range_ = f" from {self.least:g}" if self.least is not None else ""
        range_ += f" above {self.above:g}" if self.above is not None else ""
        return f"a number{f' of {self.unit}' if self.unit else ''}{range_}"


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def __call__(self, value: Any) -> bool:
        """The flag.

        Raises:
            ValueError: it is something else.
        """
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """One of `values`."""

    values: tuple[str, ...]

    def __call__(self, value: Any) -> str:
        """The choice.

        Raises:
            ValueError: it is something else; one that is near is named.
        """
        if value not in self.values:
            raise ValueError(f"one of {', '.join(self.values)}{close_to(value, self.values)}")
        return str(value)


@dataclass(frozen=True, slots=True)
class Pairs:
    """A table of texts, such as variables or commands by glob, as pairs."""

    def __call__(self, value: Any) -> tuple[tuple[str, str], ...]:
        """The pairs.

        Raises:
            ValueError: it is something else.
        """
        pairs = tuple(value.items()) if isinstance(value, dict) else value
        if not isinstance(pairs, tuple) or not all(_is_plain(text) for pair in pairs for text in pair):
            raise ValueError("a table of texts")
        return pairs


def _is_plain(text: Any) -> bool:
    return isinstance(text, str) and "\0" not in text


Check: TypeAlias = Callable[[Any], Any]
"""Returns the value in its final type, or raises ValueError with what is allowed."""
Kind: TypeAlias = Text | Texts | Whole | Number | Flag | Choice | Pairs

Level = Literal["full", "weak", "none"]
"""Of a sandbox: everything it should hold back, what this machine can, nothing."""

SECONDS = Number(above=0, unit="seconds")
USD = Number(above=0, unit="US dollars")
LEVEL = Choice(get_args(Level))


def close_to(name: Any, known: tuple[str, ...]) -> str:
    """`" (did you mean ...?)"` where a known name is near, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(str(name), known, 1, 0.8 if str(name).startswith("BAKEOFF_") else 0.6)
    return f" (did you mean {close[0]}?)" if close else ""
