"""Parts that JSON Schemas are put together from."""

from __future__ import annotations

from typing import Any

from bakeoff.engine.record import RunStatus, Status

TEXT = {"type": "string"}
WHOLE = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number"}
FLAG = {"type": "boolean"}
ANY: dict[str, Any] = {}
RUN_STATUS = {"enum": [status.value for status in RunStatus]}
STATUS = {"enum": [status.value for status in Status]}
"""Of a node."""


def object_of(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object with these members and no others."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


def joined(*objects: dict[str, Any]) -> dict[str, Any]:
    """An object with the members of all of these."""
    return {
        "type": "object",
        "required": [name for one in objects for name in one["required"]],
        "properties": {name: schema for one in objects for name, schema in one["properties"].items()},
        "additionalProperties": False,
    }


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The same, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def list_of(item: dict[str, Any]) -> dict[str, Any]:
    """A list of such items."""
    return {"type": "array", "items": item}


def map_of(value: dict[str, Any]) -> dict[str, Any]:
    """An object with any names for such values."""
    return {"type": "object", "additionalProperties": value}


GATE = object_of({"step_id": TEXT, "message": TEXT, "options": list_of(TEXT), "choice": or_null(TEXT)})
"""A gate that a run waits at."""

LANDED = object_of(
    {
        "attempt": or_null(WHOLE),
        "step": or_null(TEXT),
        "commit": TEXT,
        "branch": or_null(TEXT),
        "made": or_null(TEXT),
        "before": or_null(TEXT),
        "merged": FLAG,
        "changed": list_of(TEXT),
        "submodules": map_of(or_null(TEXT)),
    }
)
"""What was done with a result."""
