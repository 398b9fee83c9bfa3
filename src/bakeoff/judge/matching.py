"""Regular expressions and JSON Schemas against a text; a wild one never ends, so a reader process does it."""

from __future__ import annotations

import json
import re
from typing import Any


def match(data: bytes, pattern: str, flags: int, how: str) -> bool:
    """Whether a text matches; `how` is a method of a pattern."""
    text = data.decode("utf-8", "surrogatepass")
    return getattr(re.compile(pattern, flags), how)(text) is not None


def against_schema(data: bytes, schema: dict[str, Any]) -> dict[str, Any]:
    """Validate a JSON text by a JSON Schema: `errors`; or why that cannot be said.

    That is `no_json`, `bad_schema`, or `missing` where the library is.
    """
    try:
        value = json.loads(data.decode("utf-8", "surrogatepass"))
    except RecursionError:
        return {"no_json": "it is nested too deeply"}
    except ValueError as failure:
        return {"no_json": str(failure)}
    try:
        import jsonschema
    except ImportError:
        return {"missing": True}
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as failure:
        return {"bad_schema": failure.message}
    found = sorted(kind(schema).iter_errors(value), key=lambda error: [str(part) for part in error.path])
    return {"errors": [f"{error.json_path}: {error.message[:2000]}" for error in found[:20]]}
