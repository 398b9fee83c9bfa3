"""The JSON Schema of what `bakeoff plan` prints of a run."""

from __future__ import annotations

from typing import Any

from bakeoff.engine.record import Status
from bakeoff.report.merge_schemas import findings
from bakeoff.report.schema_parts import FLAG, NUMBER, RUN_STATUS, TEXT, WHOLE, list_of, map_of, object_of, or_null


def facts() -> dict[str, Any]:
    """What is told of a plan, as members of an object."""
    subplan = object_of(
        {
            "name": TEXT,
            "parent": or_null(TEXT),
            "goal": TEXT,
            "after": list_of(TEXT),
            "files": WHOLE,
            "writes": list_of(TEXT),
            "status": {"enum": [status.value for status in Status]},
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
    return {
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


def _of_a_round(listed: dict[str, Any]) -> dict[str, Any]:
    """The same with the round in which it was found."""
    item = listed["items"]
    return list_of({**item, "properties": {**item["properties"], "round": WHOLE}})


def plan_run(applied: dict[str, Any]) -> dict[str, Any]:
    """The whole of `bakeoff plan --json`; `applied` is what was done with the result."""
    head = {"run_id": TEXT, "job": {"const": "plan"}, "status": RUN_STATUS, "error": or_null(TEXT)}
    return object_of({**head, **facts(), "usage": map_of(NUMBER), "applied": or_null(applied)})


def plan_dry_run() -> dict[str, Any]:
    """What `--dry-run` tells."""
    asked = object_of({"calls": WHOLE, "tokens": or_null(WHOLE), "usd": or_null(NUMBER)})
    return object_of({"file": TEXT, "subplans": WHOLE, "most_calls": WHOLE}, {"split": asked})
