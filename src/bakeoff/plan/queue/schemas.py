"""JSON Schemas of what commands print of a merge with `--json`."""

from __future__ import annotations

from typing import Any

from bakeoff.report.schema_parts import FLAG, RUN_STATUS, TEXT, WHOLE, joined, list_of, object_of, or_null


def findings() -> dict[str, Any]:
    """Schema of what came of a merge, as members of an object."""
    hunk = object_of({"line": WHOLE, "base": TEXT, "ours": TEXT, "theirs": TEXT})
    conflict = object_of({"ref": TEXT, "with": TEXT, "path": TEXT, "kind": TEXT, "hunks": list_of(hunk)})
    culprit = {"ref": TEXT, "with": or_null(TEXT), "test": TEXT, "tests": list_of(TEXT)}
    return {
        "landed": list_of(TEXT),
        "conflicts": list_of(conflict),
        "culprits": list_of(object_of({**culprit, "reason": TEXT, "confirmed": FLAG})),
        "runs": WHOLE,
        "tested_as": or_null(TEXT),
        "tip": TEXT,
        "base": TEXT,
        "preexisting": list_of(object_of({"ref": TEXT, "tests": list_of(TEXT), "landed": FLAG, "reason": TEXT})),
        "dropped": list_of(conflict),
        "resolved": list_of(object_of({"ref": TEXT, "path": TEXT, "rule": TEXT, "why": TEXT})),
        "flaky": list_of(list_of(TEXT)),
    }


MOVED = object_of({"branch": TEXT, "commit": TEXT, "before": or_null(TEXT), "merged": FLAG, "files": FLAG})
"""What was done with a branch."""


def facts() -> dict[str, Any]:
    """Schema of what is told of a merge, as an object."""
    return object_of({"job": {"const": "merge"}, **findings()})


def merge() -> dict[str, Any]:
    """The whole of `bakeoff merge --json`."""
    head = {"run_id": TEXT, "status": RUN_STATUS, "error": or_null(TEXT)}
    return joined(object_of({**head, "moved": or_null(MOVED)}), facts())
