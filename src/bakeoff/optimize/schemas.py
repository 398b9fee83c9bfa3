"""JSON Schemas of what commands print of an optimisation with `--json`."""

from __future__ import annotations

from typing import Any

from bakeoff.report.schema_parts import (
    ANY,
    FLAG,
    LANDED,
    NUMBER,
    RUN_STATUS,
    TEXT,
    WHOLE,
    joined,
    list_of,
    map_of,
    object_of,
    or_null,
)

_RANKED = {"target": TEXT, "own_seconds": NUMBER, "calls": WHOLE}


def facts() -> dict[str, Any]:
    """Schema of what is told of an optimisation, as an object."""
    interval = or_null(object_of({"estimate": NUMBER, "low": NUMBER, "high": or_null(NUMBER)}))
    receipt = object_of({}, {"behaviour": map_of(ANY), "differences": list_of(TEXT), "speed": map_of(ANY)})
    candidate = object_of(
        {
            "number": {"type": "integer", "minimum": 1},
            "file": TEXT,
            "origin": TEXT,
            "note": TEXT,
            "assumes": list_of(TEXT),
            "parent": or_null(TEXT),
            "verdict": or_null({"enum": ["ACCEPT", "REJECT", "SKIP"]}),
            "reason": or_null(TEXT),
            "detail": TEXT,
            "speedup": interval,
            "receipt": receipt,
        }
    )
    judged = {"baseline": or_null(map_of(ANY)), "candidates": list_of(candidate), "winner": or_null(TEXT)}
    status = {"enum": ["faster", "no winner", "failed", "open"]}
    function = object_of({**_RANKED, "status": status, "error": or_null(TEXT), "speedup": interval, **judged})
    asked = {"job": {"const": "optimize"}, "target": TEXT, "snapshot": or_null(TEXT)}
    return object_of({**asked, **judged}, {"bench": or_null(map_of(ANY)), "functions": list_of(function)})


def optimize() -> dict[str, Any]:
    """The whole of `bakeoff optimize --json`."""
    head = {"run_id": TEXT, "status": RUN_STATUS, "usage": map_of(NUMBER), "landed": or_null(LANDED)}
    return joined(object_of(head, {"error": TEXT}), facts())


def ranking() -> dict[str, Any]:
    """Schema of the ranking that `--all PATH --dry-run` prints."""
    return object_of({"target": TEXT, "functions": list_of(object_of({**_RANKED, "taken": FLAG}))})
