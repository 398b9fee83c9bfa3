"""Checks of single values, and the error that names the place of a wrong one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bakeoff.errors import BakeoffError
from bakeoff.options.kinds import Check, Flag, Number, Text, Texts, Whole, close_to
from bakeoff.options.option import options_of


class SettingsError(BakeoffError):
    """A setting is wrong; the message names the file or variable, the key and what is allowed."""


Value = TypeVar("Value")

text: Check = Text()
texts: Check = Texts()
whole: Check = Whole(1)
amount: Check = Number(least=0)
above: Check = Number(above=0)
flag: Check = Flag()


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


def checks_of(table: type) -> dict[str, Check]:
    """The checks of the options that a table of settings declares."""
    return {name: declared.kind for name, declared in options_of(table).items()}


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
