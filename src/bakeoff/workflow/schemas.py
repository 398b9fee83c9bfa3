"""JSON Schemas of what commands print of a workflow with `--json`."""

from __future__ import annotations

from typing import Any

from bakeoff.report.schema_parts import ANY, GATE, RUN_STATUS, TEXT, WHOLE, list_of, map_of, object_of, or_null


def session() -> dict[str, Any]:
    """Schema of what `run` and `resume` print."""
    required = {
        "run_id": TEXT,
        "workflow_id": or_null(TEXT),
        "status": RUN_STATUS,
        "current_step_id": or_null(TEXT),
        "current_step_index": or_null(WHOLE),
    }
    return object_of(required, {"gate": GATE, "outputs": map_of(ANY), "error": TEXT})


def explained() -> dict[str, Any]:
    """Schema of what `run --dry-run` and `resume --explain` print."""
    action = {"enum": ["run", "reuse", "skip", "decide", "unknown"]}
    step = object_of({"path": TEXT, "type": TEXT, "action": action, "reason": TEXT})
    return object_of({"steps": list_of(step), "counts": map_of(WHOLE)})
