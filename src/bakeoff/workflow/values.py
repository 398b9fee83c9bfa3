"""Values as expressions see them: stored output is loaded, lazy views become plain lists and dicts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.engine.record import Stored

_SCALARS = frozenset({str, int, float, bool, type(None)})


def is_list(value: object) -> bool:
    """Whether `value` is a list, or a view that reads like one."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def loaded(value: Any) -> Any:
    """`value`, or what it stands for when it is kept in a file."""
    return value.load() if type(value) is Stored else value


def plain(value: Any) -> Any:
    """`value` as dicts, lists and scalars alone, with everything kept in files loaded."""
    if type(value) in _SCALARS:
        return value
    if type(value) is Stored:
        return value.load()
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if is_list(value):
        return [plain(part) for part in value]
    return value


def as_text(value: Any) -> str:
    """The text that stands for `value` inside other text: Python's spelling, and nothing for null."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    return str(plain(value))


MAX_JSON_DEPTH = 200
"""Most depth of parsed JSON; beyond, later work on the value could exhaust the stack."""


def parse_json(text: str) -> Any:
    """The value that JSON text stands for.

    Raises:
        ValueError: it is not JSON, nests too deeply, or has a number that cannot be kept.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_JSON_DEPTH} deep") from None
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH:
        _check_depth(value)
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        parts = [part.values() if isinstance(part, dict) else part for part in level if isinstance(part, (dict, list))]
        if not parts:
            return
        level = [inner for part in parts for inner in part]
    raise ValueError(f"it is nested more than {MAX_JSON_DEPTH} deep")


def concurrency(value: Any) -> int | None:
    """The bound that a value of `max_concurrency` stands for; None where it stands for none (and counts as 1)."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if number >= 1 else None


def number(value: Any, *, whole: bool = False) -> int | float | None:
    """The number that a value is, or that its text reads as; None for null and empty text.

    Raises:
        ValueError: it is none.
    """
    value = plain(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is no number")
    try:
        found = float(value)
    except ValueError:
        raise ValueError(f"{value!r} is no number") from None
    if not math.isfinite(found) or (whole and not found.is_integer()):
        raise ValueError(f"{value!r} is no {'whole ' if whole else ''}number")
    return int(found) if whole else found
