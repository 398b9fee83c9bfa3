"""JSON Schemas of what commands print of attempts with `--json`."""

from __future__ import annotations

from typing import Any

from bakeoff.report.schema_parts import (
    ANY,
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

VERDICT = {"enum": ["passed", "failed", "error", "invalid", "undecided", "skipped"]}


def facts() -> dict[str, Any]:
    """Schema of what is told of attempts, as an object."""
    check = object_of(
        {"check": TEXT, "verdict": VERDICT},
        {
            "reason": TEXT,
            "score": or_null(NUMBER),
            "error": or_null(TEXT),
            "receipt": or_null(map_of(ANY)),
        },
    )
    attempt = object_of(
        {
            "id": WHOLE,
            "lane": WHOLE,
            "round": WHOLE,
            "status": {"enum": ["passed", "failed", "error", "running", "unfinished"]},
            "error": or_null(TEXT),
            "kind": or_null(TEXT),
            "seconds": NUMBER,
            "score": or_null(NUMBER),
            "usage": map_of(ANY),
            "checks": list_of(check),
            "receipt": map_of(ANY),
        },
        {"bench": or_null(map_of(ANY))},
    )
    return object_of(
        {
            "job": {"const": "attempt"},
            "reason": or_null(TEXT),
            "winner": or_null(WHOLE),
            "closest": or_null(WHOLE),
            "snapshot": or_null(TEXT),
            "attempts": list_of(attempt),
        }
    )


def attempt() -> dict[str, Any]:
    """The whole of `bakeoff attempt --json` and `bakeoff compare --json`."""
    head = {"run_id": TEXT, "status": RUN_STATUS, "error": or_null(TEXT), "usage": map_of(NUMBER)}
    return joined(object_of({**head, "landed": or_null(LANDED)}), facts())
