"""What JSON Schemas are put together from."""

from __future__ import annotations

from typing import Any

from bakeoff.engine.record import RunStatus

TEXT = {"type": "string"}
WHOLE = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number"}
FLAG = {"type": "boolean"}
ANY: dict[str, Any] = {}
RUN_STATUS = {"enum": [status.value for status in RunStatus]}


def object_of(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object with these members and no others."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
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
