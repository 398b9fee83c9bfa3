"""Checks of single values, and the error that names the place of a wrong one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bakeoff.errors import BakeoffError


class SettingsError(BakeoffError):
    """A setting is wrong; the message names the file or variable, the key and what is allowed."""


Value = TypeVar("Value")
Check = Callable[[Any], Any]
"""Returns the value in its final type, or raises ValueError with what is allowed."""


def text(value: Any) -> str:
    """A text that is not empty.

    Raises:
        ValueError: it is something else; the message says what is allowed.
    """
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts, as a tuple.

    Raises:
        ValueError: it is something else; the message says what is allowed.
    """
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of texts")
    return tuple(value)


def whole(value: Any) -> int:
    """A whole number from 1.

    Raises:
        ValueError: it is something else; the message says what is allowed.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError("a whole number from 1")
    return value


def amount(value: Any) -> float:
    """A finite number from 0.

    Raises:
        ValueError: it is something else; the message says what is allowed.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
        raise ValueError("a number from 0")
    return float(value)


def above(value: Any) -> float:
    """A finite number above 0.

    Raises:
        ValueError: it is something else; the message says what is allowed.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise ValueError("a number above 0")
    return float(value)


def flag(value: Any) -> bool:
    """True or false.

    Raises:
        ValueError: it is something else; the message says what is allowed.
    """
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def url(value: Any) -> str:
    """The address of an endpoint, without a key, query or fragment.

    Raises:
        ValueError: it is something else; the message says what is allowed.
    """
    match = re.fullmatch(r"https?://([^/?#\s]+)(/[^?#\s]*)?", value) if isinstance(value, str) else None
    if match is None or "@" in match[1]:
        raise ValueError("an address such as http://127.0.0.1:8000/v1, without a key in it")
    return str(value)


def table(value: Any) -> dict[str, Any]:
    """A table.

    Raises:
        ValueError: it is something else; the message says what is allowed.
    """
    if not isinstance(value, dict):
        raise ValueError("a table")
    return value


def variables(value: Any) -> dict[str, str]:
    """A table of texts, as environment variables are.

    Raises:
        ValueError: it is something else; the message says what is allowed.
    """
    if not all(isinstance(item, str) and "\0" not in item for item in table(value).values()):
        raise ValueError("a table of texts")
    return dict(value)


def one_of(names: tuple[str, ...]) -> Check:
    """A check for one of `names`."""

    def check(value: Any) -> str:
        if value not in names:
            raise ValueError(f"one of {', '.join(names)}{close_to(value, names)}")
        return str(value)

    return check


def checked(body: Mapping[str, Any], checks: Mapping[str, Check], where: str) -> dict[str, Any]:
    """The values of `body`, each by the check of its key; `where` comes before a key in messages.

    Raises:
        SettingsError: a key is unknown, or a value is wrong.
    """
    for key in body:
        if key not in checks:
            raise SettingsError(
                f"{where}{key} is no setting{close_to(key, tuple(checks))}; known are {', '.join(checks)}"
            )
    return {key: checked_value(checks[key], value, f"{where}{key}") for key, value in body.items()}


def checked_value(check: Callable[[Any], Value], value: Any, where: str) -> Value:
    """`value` as `check` returns it.

    Raises:
        SettingsError: it is wrong; the message begins with `where`.
    """
    try:
        return check(value)
    except ValueError as failure:
        raise SettingsError(f"{where} must be {failure}, not {value!r}") from None


def both_prices(price_in: float | None, price_out: float | None, where: str) -> None:
    """Refuse one price without the other.

    Raises:
        SettingsError: just one of them is set.
    """
    if (price_in is None) != (price_out is None):
        raise SettingsError(f"{where}: price_in and price_out go together; a price that is half known is not known")


def close_to(name: Any, known: tuple[str, ...]) -> str:
    """`" (did you mean ...?)"` where a known name is near, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(str(name), known, 1, 0.8 if str(name).startswith("BAKEOFF_") else 0.6)
    return f" (did you mean {close[0]}?)" if close else ""
