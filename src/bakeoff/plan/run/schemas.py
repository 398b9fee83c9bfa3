"""JSON Schemas of what commands print of a plan with `--json`."""

from __future__ import annotations

from typing import Any

from bakeoff.plan.queue.schemas import findings
from bakeoff.report.schema_parts import (
    FLAG,
    LANDED,
    NUMBER,
    RUN_STATUS,
    STATUS,
    TEXT,
    WHOLE,
    joined,
    list_of,
    map_of,
    object_of,
    or_null,
)


def facts() -> dict[str, Any]:
    """Schema of what is told of a plan, as an object."""
    subplan = object_of(
        {
            "name": TEXT,
            "parent": or_null(TEXT),
            "goal": TEXT,
            "after": list_of(TEXT),
            "files": WHOLE,
            "writes": list_of(TEXT),
            "status": STATUS,
            "landed": FLAG,
            "why": TEXT,
            "kind": or_null(TEXT),
            "round": WHOLE,
            "commit": or_null(TEXT),
            "start": or_null(TEXT),
            "tries": WHOLE,
            "wrote": list_of(TEXT),
            "outside": list_of(TEXT),
            "tests_changed": list_of(TEXT),
            "left_out": list_of(TEXT),
            "seconds": NUMBER,
            "calls": WHOLE,
            "usage": map_of(NUMBER),
        }
    )
    split = object_of({"by": TEXT, "name": TEXT, "calls": WHOLE, "tokens": or_null(WHOLE), "usd": or_null(NUMBER)})
    change = object_of({"do": {"enum": ["retry", "skip", "correct"]}, "subplan": TEXT, "prompt": or_null(TEXT)})
    return object_of(
        {
            "job": {"const": "plan"},
            "goal": TEXT,
            "split": or_null(split),
            "base": or_null(TEXT),
            "tip": or_null(TEXT),
            "result": or_null(TEXT),
            "landed": list_of(TEXT),
            "subplans": list_of(subplan),
            "groups": list_of(object_of({"name": TEXT, "goal": TEXT, "parent": or_null(TEXT)})),
            "circles": list_of(list_of(TEXT)),
            **{name: _of_a_round(findings()[name]) for name in ("conflicts", "culprits", "dropped")},
            "overlaps": list_of(object_of({"paths": list_of(TEXT), "wrote": list_of(TEXT), "may": list_of(TEXT)})),
            "rounds": WHOLE,
            "runs": WHOLE,
            "changes": list_of(change),
            "seconds": NUMBER,
            "at_work": NUMBER,
            "at_once": or_null(NUMBER),
        }
    )


def _of_a_round(listed: dict[str, Any]) -> dict[str, Any]:
    """The same with the round in which it was found."""
    item = listed["items"]
    return list_of({**item, "properties": {**item["properties"], "round": WHOLE}})


def plan_run() -> dict[str, Any]:
    """Schema of what `bakeoff plan` prints: the whole of a run, or what `--dry-run` tells."""
    head = {"run_id": TEXT, "status": RUN_STATUS, "error": or_null(TEXT), "usage": map_of(NUMBER)}
    asked = object_of({"calls": WHOLE, "tokens": or_null(WHOLE), "usd": or_null(NUMBER)})
    written = object_of({"file": TEXT, "subplans": WHOLE, "most_calls": WHOLE}, {"split": asked})
    return {"oneOf": [joined(object_of({**head, "applied": or_null(LANDED)}), facts()), written]}


def decomposition() -> dict[str, Any]:
    """Schema of what `bakeoff plan decompose` prints."""
    node = object_of(
        {
            "id": TEXT,
            "parent": or_null(TEXT),
            "children": list_of(TEXT),
            "depth": WHOLE,
            "files": list_of(TEXT),
            "tokens": WHOLE,
            "hub": FLAG,
            "oversize": FLAG,
        }
    )
    counts = ("files", "tokens", "leaves", "depth", "fan_out", "over_limit", "oversize", "edges", "hubs")
    shares = ("fill", "cut", "cut_without_hubs", "torn", "kept")
    metrics = dict.fromkeys(counts, WHOLE) | {name: or_null(NUMBER) for name in shares}
    metrics |= {"circles": list_of(list_of(TEXT)), "skipped": map_of(WHOLE)}
    return object_of(
        {"root": or_null(TEXT), "nodes": list_of(node), "order": list_of(TEXT), "metrics": object_of(metrics)}
    )
