"""What a run that is completed came to, told apart from how it ended: with a result, with part of it, with none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.engine.record import RunStatus
from bakeoff.jobs.registry import JOBS

WITHOUT, IN_PART = "without", "in_part"
"""What stands for a run with no result, and with part of it, where others have a status."""


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
