"""Outcome of a run: whether a completed one has its result, part of it or none; what takes a stopped one up again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from bakeoff.engine.record import RunStatus
from bakeoff.jobs.registry import JOBS, WORKFLOW
from bakeoff.report.marks import IN_PART, WITHOUT


def outcome(job: str | None, status: RunStatus | None, facts: Mapping[str, Any]) -> tuple[str, str] | None:
    """As a sign, and in words; None for a run that has its result, or is not completed, or of which nobody can say.

    Args:
        job: what made it.
        status: how it stands.
        facts: what its ending has on record.
    """
    nothing = JOBS[job].nothing if job in JOBS else ""
    if status is not RunStatus.COMPLETED or not nothing:
        return None
    if "winner" in facts:
        return None if facts["winner"] is not None else (WITHOUT, nothing)
    landed = _landed(facts)
    if landed is None or all(landed):
        return None
    if not any(landed):
        return WITHOUT, nothing
    return IN_PART, f"{sum(landed)} of {len(landed)} landed"


def _landed(facts: Mapping[str, Any]) -> list[bool] | None:
    """Of each that was to land, whether it did; None where that is not on record."""
    if isinstance(plan := facts.get("plan"), Mapping):
        wanted = [state for state in plan["states"].values() if state["status"] != "skipped"]
        return [bool(state["landed"]) for state in wanted]
    if isinstance(found := facts.get("findings"), Mapping):
        out = {one["ref"] for name in ("conflicts", "culprits", "preexisting") for one in found[name]}
        landed = set(found["landed"])
        return [*(True for _ in landed), *(False for _ in out - landed)]
    return None


def how_to_go_on(run_id: str, status: RunStatus | None, job: str | None) -> str | None:
    """What takes a stopped run up again; None where nothing does."""
    if status in (RunStatus.COMPLETED, RunStatus.ABORTED, RunStatus.RUNNING, None):
        return None
    if job not in (None, *JOBS):
        higher = ", with a higher budget" if status is RunStatus.BUDGET_SPENT else ""
        return f"the program that made it, called again for run {shlex.quote(run_id)}{higher}"
    entry = JOBS.get(job or "", WORKFLOW)
    if not entry.has_ceilings:
        higher = " --edit FILE, with a higher budget in the file"
    else:
        higher = " -i max_cost=USD (or max_calls=N, max_tokens=N)"
    higher = higher if status is RunStatus.BUDGET_SPENT else ""
    same = " (on the files as they were: once they are mended, start anew)"
    return f"bakeoff resume {run_id}{higher}{same if entry.keeps_snapshot and status is RunStatus.FAILED else ''}"
