"""How values look to an expression: stored output is loaded, lazy views become plain lists and dicts."""

from __future__ import annotations

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
