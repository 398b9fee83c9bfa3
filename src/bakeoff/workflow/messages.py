"""Says in plain words what pydantic found, at the place in the file where it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bakeoff.workflow.document import Document
from bakeoff.workflow.models import Strict
from bakeoff.workflow.problems import Path, Problem, key_name, quoting, shown, suggestion

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "none_required": "left out",
}
_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_TELLING = {
    "run": "shell",
    "argv": "shell",
    "prompt": "prompt",
    "message": "gate",
    "then": "if",
    "cases": "switch",
    "items": "fan-out",
    "wait_for": "fan-in",
    "branches": "parallel",
    "workflow": "workflow",
}
"""The type of step that is meant, by a key that it alone has, where none is given."""
_SHAPES = {"outputs": "{value: ...}", "inputs": "{type: string, default: ...}"}
"""Form of an entry of these top-level mappings."""
_PATTERNS = {
    "id": "must be small letters, digits and hyphens, with a letter or digit at both ends",
    "version": 'must be three numbers, as in "1.0.0"',
}


def translate(failure: ValidationError, document: Document, at: Path, data: Any, model: type[Strict]) -> list[Problem]:
    """Every problem that pydantic found in `data`, which stands at `at`; unknown keys are warnings."""
    grouped: dict[tuple[Path, bool], list[ErrorDetails]] = {}
    for error in failure.errors(include_url=False):
        path, value = _locate(error["loc"], data)
        grouped.setdefault((path, isinstance(value, _Absent)), []).append(error)
    return [_problem(document, at, path, errors, data, model) for (path, _), errors in grouped.items()]


class _Absent:
    pass


def _locate(location: tuple[int | str, ...], data: Any) -> tuple[Path, Any]:
    """The part of pydantic's location that is in the data; what follows are names of union members."""
    path: list[Any] = []
    for part in location:
        if isinstance(data, dict) and (part in data or (part == "on" and True in data)):
            part = part if part in data else True
            data = data[part]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return tuple(path), _Absent()
        path.append(part)
    return tuple(path), data


def _problem(
    document: Document, at: Path, path: Path, errors: list[ErrorDetails], data: Any, model: type[Strict]
) -> Problem:
    first = errors[0]
    name = key_name(at + path) if path else ""
    kind = first["type"]
    if kind == "extra_forbidden":
        known = _fields(model, path[:-1])
        message = f"unknown key `{name}`{suggestion(name, known) or '; it is ignored'}"
        return document.problem("warning", at + path, message, key=True)
    if kind == "missing":
        keys = [f"`{error['loc'][-1]}`" for error in errors if error["type"] == "missing"]
        verb = "is" if len(keys) == 1 else "are"
        whose = f"; a step of type `{data.get('type', 'command')}` needs it" if not path and at else ""
        meant = next((kind for key, kind in _TELLING.items() if key in data), None) if not path and at else None
        if meant is not None and "type" not in data:
            whose += f"; for a step of type `{meant}`, write `type: {meant}`"
        return document.problem("error", at + path, f"{', '.join(keys)} {verb} missing{whose}")
    if first["loc"][-1] == "[key]" or kind == "invalid_key":
        return document.problem(
            "error", at + path, f"the key {first['input']!r} must be text; put it in quotes", key=True
        )
    numbered = bool(path) and isinstance(path[-1], int) and name == str(path[-1])
    subject = f"entry {name}" if numbered else f"`{name}`" if path else "this"
    shape = _SHAPES.get(str(path[0])) if not at and len(path) == 2 and kind in _WANTED else None
    remedy = f"; write `{name}: {shape}`" if shape else ""
    return document.problem("error", at + path, f"{subject} {_requirement(errors, name)}{remedy}")


def _requirement(errors: list[ErrorDetails], name: str) -> str:
    if rule := next((error for error in errors if _wanted(error) is None), None):
        return _other(rule, name)
    if len(errors) == 1 and errors[0]["type"] == "literal_error":
        return _other(errors[0], name)
    wanted = list(dict.fromkeys(filter(None, map(_wanted, errors))))
    if "a number" in wanted and "a whole number" in wanted:
        wanted.remove("a whole number")
    value = errors[0]["input"]
    return f"must be {' or '.join(wanted)}, not {shown(value)}{quoting(value) if 'text' in wanted else ''}"


def _wanted(error: ErrorDetails) -> str | None:
    """What one branch of a union takes; None where that is no kind of value, but a rule of its own."""
    return _allowed(error) if error["type"] == "literal_error" else _WANTED.get(error["type"])


def _allowed(error: ErrorDetails) -> str:
    """The values that a field takes, as a file has them and not as Python does."""
    names = {"True": "true", "False": "false", "None": "null"}
    return re.sub(r"'[^']*'|\w+", lambda word: names.get(word[0], word[0]), error["ctx"]["expected"])


def _other(error: ErrorDetails, name: str) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"must be {words} {context[key]}, not {shown(error['input'])}"
    if kind == "literal_error":
        return f"must be {_allowed(error)}, not {shown(error['input'])}{_near(error, context)}"
    if kind in {"string_too_short", "too_short"}:
        return "must not be empty"
    if kind == "string_pattern_mismatch" and name in _PATTERNS:
        return f"{_PATTERNS[name]}, not {shown(error['input'])}"
    if kind == "value_error":
        return str(context["error"])
    return f"is wrong: {error['msg']}"


def _near(error: ErrorDetails, context: dict[str, Any]) -> str:
    words = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
    return suggestion(error["input"], words) if isinstance(error["input"], str) else ""


def _fields(model: Any, path: Path) -> list[str]:
    """The keys that the mapping at `path` of a model's data may have."""
    for part in path:
        model = _member(model, str(part))
    fields = getattr(model, "model_fields", {})
    return [field.alias or name for name, field in fields.items()]


def _member(model: Any, name: str) -> Any:
    fields = getattr(model, "model_fields", {})
    if name not in fields:
        # A key of a mapping such as `inputs`: the model of its values was found one step before.
        return model
    annotation = fields[name].annotation
    candidates = [annotation, *getattr(annotation, "__args__", ())]
    return next((part for part in candidates if hasattr(part, "model_fields")), None)
