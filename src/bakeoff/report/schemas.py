"""JSON Schemas of what commands print with `--json` of runs, whatever made them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bakeoff.report.schema_parts import (
    ANY,
    FLAG,
    GATE,
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


def show(jobs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Schema of what `show` prints: of a run of steps, or of a job that adds these members."""
    step = object_of(
        {
            "type": or_null(TEXT),
            "status": STATUS,
            "input": or_null(map_of(ANY)),
            "output": or_null(map_of(ANY)),
            "error": or_null(TEXT),
            "started_at": NUMBER,
            "ended_at": or_null(NUMBER),
            "attempts": WHOLE,
        },
        {
            "usage": map_of(ANY),
            "kind": TEXT,
            "facts": map_of(ANY),
            "continued": FLAG,
            "retries": list_of(TEXT),
        },
    )
    steps = object_of(
        {
            "run_id": TEXT,
            "workflow_id": or_null(TEXT),
            "status": RUN_STATUS,
            "error": or_null(TEXT),
            "created_at": or_null(NUMBER),
            "updated_at": NUMBER,
            "usage": map_of(NUMBER),
            "inputs": map_of(ANY),
            "current_step_id": or_null(TEXT),
            "current_step_index": or_null(WHOLE),
            "gate": or_null(GATE),
            "outputs": or_null(map_of(ANY)),
            "damaged": list_of(WHOLE),
            "steps": map_of(step),
        }
    )
    return {"oneOf": [steps, *(joined(steps, facts) for facts in jobs)]}


def _runs() -> dict[str, Any]:
    run = object_of(
        {
            "run_id": TEXT,
            "workflow_id": or_null(TEXT),
            "job": or_null(TEXT),
            "name": or_null(TEXT),
            "status": or_null(RUN_STATUS),
            "outcome": or_null(TEXT),
            "error": or_null(TEXT),
            "created_at": or_null(NUMBER),
            "updated_at": or_null(NUMBER),
            "live": FLAG,
        }
    )
    return object_of({"runs": list_of(run)})


def _cancel() -> dict[str, Any]:
    return object_of({"run_id": TEXT, "status": RUN_STATUS})


def _answer() -> dict[str, Any]:
    return object_of({"run_id": TEXT, "step_id": TEXT, "choice": TEXT, "live": FLAG})


def _logs() -> dict[str, Any]:
    stream = {"enum": ["stdout", "stderr", "error", "retry"]}
    return object_of({"path": TEXT, "attempt": WHOLE, "stream": stream, "text": TEXT})


def _watch() -> dict[str, Any]:
    at = {"at": NUMBER}
    path = {**at, "path": TEXT}
    events = {
        "run_changed": object_of({**at, "run_id": TEXT, "status": RUN_STATUS, "error": or_null(TEXT)}),
        "node_started": object_of({**path, "attempt": WHOLE, "place": WHOLE}, {"type": TEXT}),
        "node_ended": object_of(
            {
                **path,
                "type": TEXT,
                "status": STATUS,
                "error": or_null(TEXT),
                "seconds": NUMBER,
                "attempts": WHOLE,
                "reused": FLAG,
            }
        ),
        "node_retried": object_of({**path, "attempt": WHOLE, "error": TEXT}),
        "fan_opened": object_of({"path": TEXT, "total": WHOLE}, at),
        "gate_opened": object_of({"path": TEXT, "options": list_of(TEXT)}, at),
    }
    for name, event in events.items():
        event["required"].append("event")
        event["properties"]["event"] = {"const": name}
    return {"oneOf": list(events.values())}


def _report() -> dict[str, Any]:
    return object_of({"run_id": TEXT, "file": TEXT, "bytes": WHOLE})


def _validate() -> dict[str, Any]:
    problem = object_of(
        {
            "severity": {"enum": ["error", "warning"]},
            "line": WHOLE,
            "column": WHOLE,
            "path": TEXT,
            "message": TEXT,
        }
    )
    return object_of({"file": TEXT, "valid": FLAG, "problems": list_of(problem)})


def _clean() -> dict[str, Any]:
    run = object_of({"run_id": TEXT, "status": or_null(RUN_STATUS), "bytes": WHOLE})
    kept = object_of({"run_id": TEXT, "reason": TEXT})
    slots = object_of(
        {
            "removed": list_of(TEXT),
            "saved": list_of(TEXT),
            "kept": list_of(object_of({"slot": TEXT, "reason": TEXT})),
            "lost": list_of(object_of({"slot": TEXT, "reason": TEXT})),
            "unused": list_of(TEXT),
            "bytes": WHOLE,
        }
    )
    required = {"removed": list_of(run), "kept": list_of(kept), "bytes": WHOLE, "dry_run": FLAG}
    return object_of(required, {"slots": slots})


def _slots() -> dict[str, Any]:
    slot = object_of(
        {
            "id": TEXT,
            "kind": or_null({"enum": ["overlay", "repository", "worktree"]}),
            "project": or_null(TEXT),
            "run": or_null(TEXT),
            "alive": FLAG,
            "owner": or_null(WHOLE),
            "age": or_null(NUMBER),
            "size": WHOLE,
            "salvage": list_of(TEXT),
        }
    )
    return object_of({"slots": list_of(slot)})


def _doctor() -> dict[str, Any]:
    agent = object_of(
        {
            "name": TEXT,
            "path": or_null(TEXT),
            "version": or_null(TEXT),
            "login": or_null(TEXT),
            "advice": or_null(TEXT),
        }
    )
    check = object_of({"name": TEXT, "ok": FLAG, "found": or_null(TEXT), "advice": or_null(TEXT)})
    return object_of({"ok": FLAG, "checks": list_of(check), "agents": list_of(agent)})


def _diff() -> dict[str, Any]:
    changed = object_of(
        {
            "path": TEXT,
            "status": {"enum": ["A", "M", "D", "T"]},
            "added": or_null(WHOLE),
            "deleted": or_null(WHOLE),
        }
    )
    return object_of(
        {
            "run_id": TEXT,
            "attempt": or_null(WHOLE),
            "step": or_null(TEXT),
            "status": TEXT,
            "commit": TEXT,
            "tests_changed": list_of(TEXT),
            "changed": list_of(changed),
        },
        {"diff": TEXT},
    )


def apply(taken: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Schema of what `apply` prints: what was done with a result."""
    return {"oneOf": [joined(object_of({"run_id": TEXT}), one) for one in taken]}


COMMANDS = {
    "runs": _runs,
    "cancel": _cancel,
    "answer": _answer,
    "logs": _logs,
    "watch": _watch,
    "report": _report,
    "validate": _validate,
    "slots": _slots,
    "clean": _clean,
    "doctor": _doctor,
    "diff": _diff,
}
"""What commands print that is the same for runs of all jobs; of `logs` and `watch` a single line."""
