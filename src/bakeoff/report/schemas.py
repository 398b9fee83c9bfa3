"""The JSON Schemas of what commands print with `--json`: published, so that others can build on them."""

from __future__ import annotations

from typing import Any

from bakeoff.engine.record import Status
from bakeoff.report.merge_schemas import findings, merge, moved
from bakeoff.report.plan_schemas import facts as plan_facts
from bakeoff.report.plan_schemas import plan_dry_run, plan_run
from bakeoff.report.schema_parts import ANY as _ANY
from bakeoff.report.schema_parts import FLAG as _FLAG
from bakeoff.report.schema_parts import NUMBER as _NUMBER
from bakeoff.report.schema_parts import RUN_STATUS as _RUN_STATUS
from bakeoff.report.schema_parts import TEXT as _TEXT
from bakeoff.report.schema_parts import WHOLE as _WHOLE
from bakeoff.report.schema_parts import list_of as _list
from bakeoff.report.schema_parts import map_of as _map
from bakeoff.report.schema_parts import object_of as _object
from bakeoff.report.schema_parts import or_null as _or_null

DIALECT = "https://json-schema.org/draft/2020-12/schema"

NAMES = (
    "run", "plan", "show", "runs", "cancel", "answer", "logs", "watch", "report", "validate", "slots", "clean",
    "doctor", "attempt", "compare", "optimize", "ranking", "merge", "diff", "apply", "plan-decompose",
    "plan-run",
)  # fmt: skip
"""What there is a schema of; `plan` is `run --dry-run` and `resume --explain`, `ranking` is `optimize --all PATH
--dry-run`, `logs` and `watch` a single line."""

_STATUS = {"enum": [status.value for status in Status]}
_VERDICT = {"enum": ["passed", "failed", "error", "invalid", "undecided", "skipped"]}


def output_schema(name: str) -> dict[str, Any]:
    """The schema of what a command prints; `name` is one of `NAMES`."""
    made: dict[str, Any] = _SCHEMAS[name]()
    return {"$schema": DIALECT, "title": f"bakeoff {name} --json", **made}


def _gate() -> dict[str, Any]:
    return _object({"step_id": _TEXT, "message": _TEXT, "options": _list(_TEXT), "choice": _or_null(_TEXT)})


def _run() -> dict[str, Any]:
    required = {
        "run_id": _TEXT,
        "workflow_id": _or_null(_TEXT),
        "status": _RUN_STATUS,
        "current_step_id": _or_null(_TEXT),
        "current_step_index": _or_null(_WHOLE),
    }
    return _object(required, {"gate": _gate(), "outputs": _map(_ANY), "error": _TEXT})


def _plan() -> dict[str, Any]:
    action = {"enum": ["run", "reuse", "skip", "decide", "unknown"]}
    step = _object({"path": _TEXT, "type": _TEXT, "action": action, "reason": _TEXT})
    return _object({"steps": _list(step), "counts": _map(_WHOLE)})


def _show() -> dict[str, Any]:
    step = _object(
        {
            "type": _or_null(_TEXT),
            "status": _STATUS,
            "input": _or_null(_map(_ANY)),
            "output": _or_null(_map(_ANY)),
            "error": _or_null(_TEXT),
            "started_at": _NUMBER,
            "ended_at": _or_null(_NUMBER),
            "attempts": _WHOLE,
        },
        {
            "usage": _map(_ANY),
            "kind": _TEXT,
            "facts": _map(_ANY),
            "continued": _FLAG,
            "retries": _list(_TEXT),
        },
    )
    attempts = {name: _attempt()["properties"][name] for name in ("job", "reason", "winner", "closest", "snapshot")}
    attempts["attempts"] = _attempt()["properties"]["attempts"]
    shown = _optimize()["properties"]
    candidates = {name: shown[name] for name in ("target", "baseline", "candidates", "bench", "functions")}
    either = {"job": {"enum": ["attempt", "optimize", "merge"]}, "winner": _or_null({"type": ["integer", "string"]})}
    head = {
        "run_id": _TEXT,
        "workflow_id": _or_null(_TEXT),
        "status": _RUN_STATUS,
        "error": _or_null(_TEXT),
        "created_at": _or_null(_NUMBER),
        "updated_at": _NUMBER,
        "usage": _map(_NUMBER),
        "inputs": _map(_ANY),
        "current_step_id": _or_null(_TEXT),
        "current_step_index": _or_null(_WHOLE),
        "gate": _or_null(_gate()),
        "outputs": _or_null(_map(_ANY)),
        "damaged": _list(_WHOLE),
        "steps": _map(step),
    }
    plan = {"job": {"const": "plan"}, **plan_facts()}
    others = _object(head, {**attempts, **candidates, **findings(), **either})
    return {"oneOf": [others, _object({**head, **plan})]}


def _runs() -> dict[str, Any]:
    run = _object(
        {
            "run_id": _TEXT,
            "workflow_id": _or_null(_TEXT),
            "job": _or_null(_TEXT),
            "name": _or_null(_TEXT),
            "status": _or_null(_RUN_STATUS),
            "outcome": _or_null(_TEXT),
            "error": _or_null(_TEXT),
            "created_at": _or_null(_NUMBER),
            "updated_at": _or_null(_NUMBER),
            "live": _FLAG,
        }
    )
    return _object({"runs": _list(run)})


def _cancel() -> dict[str, Any]:
    return _object({"run_id": _TEXT, "status": _RUN_STATUS})


def _answer() -> dict[str, Any]:
    return _object({"run_id": _TEXT, "step_id": _TEXT, "choice": _TEXT, "live": _FLAG})


def _logs() -> dict[str, Any]:
    stream = {"enum": ["stdout", "stderr", "error", "retry"]}
    return _object({"path": _TEXT, "attempt": _WHOLE, "stream": stream, "text": _TEXT})


def _watch() -> dict[str, Any]:
    at = {"at": _NUMBER}
    path = {**at, "path": _TEXT}
    events = {
        "run_changed": _object({**at, "run_id": _TEXT, "status": _RUN_STATUS, "error": _or_null(_TEXT)}),
        "node_started": _object({**path, "attempt": _WHOLE, "place": _WHOLE}, {"type": _TEXT}),
        "node_ended": _object(
            {
                **path,
                "type": _TEXT,
                "status": _STATUS,
                "error": _or_null(_TEXT),
                "seconds": _NUMBER,
                "attempts": _WHOLE,
                "reused": _FLAG,
            }
        ),
        "node_retried": _object({**path, "attempt": _WHOLE, "error": _TEXT}),
        "fan_opened": _object({"path": _TEXT, "total": _WHOLE}, at),
        "gate_opened": _object({"path": _TEXT, "options": _list(_TEXT)}, at),
    }
    for name, event in events.items():
        event["required"].append("event")
        event["properties"]["event"] = {"const": name}
    return {"oneOf": list(events.values())}


def _report() -> dict[str, Any]:
    return _object({"run_id": _TEXT, "file": _TEXT, "bytes": _WHOLE})


def _validate() -> dict[str, Any]:
    problem = _object(
        {
            "severity": {"enum": ["error", "warning"]},
            "line": _WHOLE,
            "column": _WHOLE,
            "path": _TEXT,
            "message": _TEXT,
        }
    )
    return _object({"file": _TEXT, "valid": _FLAG, "problems": _list(problem)})


def _clean() -> dict[str, Any]:
    run = _object({"run_id": _TEXT, "status": _or_null(_RUN_STATUS), "bytes": _WHOLE})
    kept = _object({"run_id": _TEXT, "reason": _TEXT})
    slots = _object(
        {
            "removed": _list(_TEXT),
            "saved": _list(_TEXT),
            "kept": _list(_object({"slot": _TEXT, "reason": _TEXT})),
            "lost": _list(_object({"slot": _TEXT, "reason": _TEXT})),
            "unused": _list(_TEXT),
            "bytes": _WHOLE,
        }
    )
    required = {"removed": _list(run), "kept": _list(kept), "bytes": _WHOLE, "dry_run": _FLAG}
    return _object(required, {"slots": slots})


def _slots() -> dict[str, Any]:
    slot = _object(
        {
            "id": _TEXT,
            "kind": _or_null({"enum": ["overlay", "repository", "worktree"]}),
            "project": _or_null(_TEXT),
            "run": _or_null(_TEXT),
            "alive": _FLAG,
            "owner": _or_null(_WHOLE),
            "age": _or_null(_NUMBER),
            "size": _WHOLE,
            "salvage": _list(_TEXT),
        }
    )
    return _object({"slots": _list(slot)})


def _doctor() -> dict[str, Any]:
    agent = _object(
        {
            "name": _TEXT,
            "path": _or_null(_TEXT),
            "version": _or_null(_TEXT),
            "login": _or_null(_TEXT),
            "advice": _or_null(_TEXT),
        }
    )
    check = _object({"name": _TEXT, "ok": _FLAG, "found": _or_null(_TEXT), "advice": _or_null(_TEXT)})
    return _object({"ok": _FLAG, "checks": _list(check), "agents": _list(agent)})


def _attempt() -> dict[str, Any]:
    check = _object(
        {"check": _TEXT, "verdict": _VERDICT},
        {
            "reason": _TEXT,
            "score": _or_null(_NUMBER),
            "error": _or_null(_TEXT),
            "receipt": _or_null(_map(_ANY)),
        },
    )
    attempt = _object(
        {
            "id": _WHOLE,
            "lane": _WHOLE,
            "round": _WHOLE,
            "status": {"enum": ["passed", "failed", "error", "running", "unfinished"]},
            "error": _or_null(_TEXT),
            "kind": _or_null(_TEXT),
            "seconds": _NUMBER,
            "score": _or_null(_NUMBER),
            "usage": _map(_ANY),
            "checks": _list(check),
            "receipt": _map(_ANY),
        },
        {"bench": _or_null(_map(_ANY))},
    )
    return _object(
        {
            "run_id": _TEXT,
            "job": {"const": "attempt"},
            "status": _RUN_STATUS,
            "error": _or_null(_TEXT),
            "reason": _or_null(_TEXT),
            "winner": _or_null(_WHOLE),
            "closest": _or_null(_WHOLE),
            "snapshot": _or_null(_TEXT),
            "usage": _map(_NUMBER),
            "attempts": _list(attempt),
            "landed": _or_null(_landed()),
        }
    )


def _optimize() -> dict[str, Any]:
    interval = _or_null(_object({"estimate": _NUMBER, "low": _NUMBER, "high": _or_null(_NUMBER)}))
    receipt = _object({}, {"behaviour": _map(_ANY), "differences": _list(_TEXT), "speed": _map(_ANY)})
    candidate = _object(
        {
            "number": {"type": "integer", "minimum": 1},
            "file": _TEXT,
            "origin": _TEXT,
            "note": _TEXT,
            "assumes": _list(_TEXT),
            "parent": _or_null(_TEXT),
            "verdict": _or_null({"enum": ["ACCEPT", "REJECT", "SKIP"]}),
            "reason": _or_null(_TEXT),
            "detail": _TEXT,
            "speedup": interval,
            "receipt": receipt,
        }
    )
    judged = {"baseline": _or_null(_map(_ANY)), "candidates": _list(candidate), "winner": _or_null(_TEXT)}
    status = {"enum": ["faster", "no winner", "failed", "open"]}
    function = _object({**_ranked(), "status": status, "error": _or_null(_TEXT), "speedup": interval, **judged})
    return _object(
        {
            "run_id": _TEXT,
            "job": {"const": "optimize"},
            "status": _RUN_STATUS,
            "target": _TEXT,
            "snapshot": _or_null(_TEXT),
            **judged,
            "usage": _map(_NUMBER),
            "landed": _or_null(_landed()),
        },
        {"error": _TEXT, "bench": _or_null(_map(_ANY)), "functions": _list(function)},
    )


def _ranked() -> dict[str, Any]:
    return {"target": _TEXT, "own_seconds": _NUMBER, "calls": _WHOLE}


def _ranking() -> dict[str, Any]:
    return _object({"target": _TEXT, "functions": _list(_object({**_ranked(), "taken": _FLAG}))})


def _landed() -> dict[str, Any]:
    return _object(
        {
            "attempt": _or_null(_WHOLE),
            "step": _or_null(_TEXT),
            "commit": _TEXT,
            "branch": _or_null(_TEXT),
            "made": _or_null(_TEXT),
            "before": _or_null(_TEXT),
            "merged": _FLAG,
            "changed": _list(_TEXT),
            "submodules": _map(_or_null(_TEXT)),
        }
    )


def _apply() -> dict[str, Any]:
    landed = _landed()
    of_a_merge = _object({"run_id": _TEXT, **moved()})
    return {"oneOf": [_object({"run_id": _TEXT, **landed["properties"]}), of_a_merge]}


def _plan_run() -> dict[str, Any]:
    return {"oneOf": [plan_run(_landed()), plan_dry_run()]}


def _diff() -> dict[str, Any]:
    changed = _object(
        {
            "path": _TEXT,
            "status": {"enum": ["A", "M", "D", "T"]},
            "added": _or_null(_WHOLE),
            "deleted": _or_null(_WHOLE),
        }
    )
    return _object(
        {
            "run_id": _TEXT,
            "attempt": _or_null(_WHOLE),
            "step": _or_null(_TEXT),
            "status": _TEXT,
            "commit": _TEXT,
            "tests_changed": _list(_TEXT),
            "changed": _list(changed),
        },
        {"diff": _TEXT},
    )


def _plan_decompose() -> dict[str, Any]:
    node = _object(
        {
            "id": _TEXT,
            "parent": _or_null(_TEXT),
            "children": _list(_TEXT),
            "depth": _WHOLE,
            "files": _list(_TEXT),
            "tokens": _WHOLE,
            "hub": _FLAG,
            "oversize": _FLAG,
        }
    )
    counts = ("files", "tokens", "leaves", "depth", "fan_out", "over_limit", "oversize", "edges", "hubs")
    shares = ("fill", "cut", "cut_without_hubs", "torn", "kept")
    metrics = dict.fromkeys(counts, _WHOLE) | {name: _or_null(_NUMBER) for name in shares}
    metrics |= {"circles": _list(_list(_TEXT)), "skipped": _map(_WHOLE)}
    return _object({"root": _or_null(_TEXT), "nodes": _list(node), "order": _list(_TEXT), "metrics": _object(metrics)})


_SCHEMAS = {
    "run": _run,
    "plan": _plan,
    "show": _show,
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
    "attempt": _attempt,
    "compare": _attempt,
    "optimize": _optimize,
    "merge": merge,
    "ranking": _ranking,
    "diff": _diff,
    "apply": _apply,
    "plan-decompose": _plan_decompose,
    "plan-run": _plan_run,
}
