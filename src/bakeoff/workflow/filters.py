"""Filters of the expression language: `value | name` and `value | name(argument)`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from bakeoff.workflow.values import as_text, is_list, loaded, parse_json, plain


class FilterError(Exception):
    """A filter was given something that it cannot take; the text names the filter."""


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if is_list(value):
        return "a list"
    if isinstance(value, Mapping):
        return "a mapping"
    names = {str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def _text(name: str, value: Any, what: str = "text") -> str:
    text = loaded(value)
    if not isinstance(text, str):
        raise FilterError(f"{name}: expected {what}, got {_kind(text)}")
    return text


def default(value: Any, fallback: Any = "") -> Any:
    """`fallback` in place of null and of empty text; 0 and false stay."""
    return fallback if value is None or (type(value) is str and not value) else value


def join(value: Any, separator: Any) -> str:
    """The elements as text with `separator` between them."""
    between = _text("join", separator, "text as separator")
    value = loaded(value)
    if not is_list(value):
        return str(plain(value))
    # An element that is null is spelled None here, unlike in a template: the files rely on it.
    return between.join([str(plain(part)) for part in value])


def map_(value: Any, path: Any) -> list[Any]:
    """Values at the dotted `path` of each element that is a mapping; other elements as they are."""
    keys = _text("map", path, "text as path").split(".")
    value = loaded(value)
    return [_at(part, keys) if isinstance(part, Mapping) else part for part in value] if is_list(value) else []


def _at(value: Any, keys: list[str]) -> Any:
    for key in keys:
        value = loaded(value)
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return loaded(value)


def contains(value: Any, wanted: Any) -> bool:
    """Whether text contains text, or a list has an element."""
    value = loaded(value)
    if isinstance(value, str):
        return _text("contains", wanted, "text, because the value is text") in value
    return plain(wanted) in plain(value) if is_list(value) else False


def split(value: Any, separator: Any) -> list[str]:
    """The pieces of text between separators.

    Raises:
        FilterError: value or separator is not text, or the separator is empty.
    """
    text, separator = _text("split", value), _text("split", separator, "text as separator")
    if not separator:
        raise FilterError("split: the separator is empty")
    return text.split(separator)


def length(value: Any) -> int:
    """Number of elements or characters.

    Raises:
        FilterError: the value is neither a list nor text.
    """
    value = loaded(value)
    if isinstance(value, str) or is_list(value):
        return len(value)
    raise FilterError(f"length: expected a list or text, got {_kind(value)}")


def from_json(value: Any) -> Any:
    """The value that JSON text stands for.

    Raises:
        FilterError: not text, not JSON, nested too deeply, or a number too long to keep.
    """
    text = _text("from_json", value, "JSON text")
    try:
        return parse_json(text)
    except ValueError as failure:
        raise FilterError(f"from_json: the text is not usable JSON: {failure}") from None


def to_json(value: Any) -> str:
    """JSON text with sorted keys, the same bytes for the same value.

    Raises:
        FilterError: the value holds something that JSON has no form for.
    """
    value = plain(value)
    _check_keys(value)
    try:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as failure:
        raise FilterError(f"to_json: the value has no JSON form: {failure}") from None


def _check_keys(value: Any) -> None:
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            wrong = next((key for key in part if not isinstance(key, str)), None)
            if wrong is not None:
                raise FilterError(f"to_json: keys must be text, got {wrong!r}")
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)


def sh(value: Any) -> str:
    """One word of shell text for a value; one word for each element of a list."""
    value = loaded(value)
    if is_list(value):
        return " ".join([shlex.quote(as_text(part)) for part in value])
    return shlex.quote(as_text(value))


def upper(value: Any) -> str:
    """Text in capitals."""
    return _text("upper", value).upper()


def lower(value: Any) -> str:
    """Text in small letters."""
    return _text("lower", value).lower()


PLAIN: dict[str, Callable[[Any], Any]] = {
    "default": default,
    "from_json": from_json,
    "json": to_json,
    "length": length,
    "lower": lower,
    "sh": sh,
    "to_json": to_json,
    "upper": upper,
}
"""Filters that may stand without an argument."""

WITH_ARGUMENT: dict[str, Callable[[Any, Any], Any]] = {
    "contains": contains,
    "default": default,
    "join": join,
    "map": map_,
    "split": split,
}
"""Filters that may stand with one argument."""

NAMES = tuple(sorted({*PLAIN, *WITH_ARGUMENT}))
"""Every filter."""
