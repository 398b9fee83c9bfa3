"""`[tool.bakeoff.plan]`: how a project is split into subplans, and how these are carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .checks import Check, above, amount, checked, flag, one_of, whole

SPLITS = ("limits", "deep")
MODES = ("sequential", "parallel", "dependency_ordered")
ON_CONFLICT = ("reopen", "leave_out", "ours_first", "fail")


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """Settings of plans: how files become subplans, and how those are carried out where nothing else says.

    Attributes:
        max_files_per_subplan: files that one subplan may have.
        max_tokens_per_subplan: tokens that its files may have together; a larger file is a subplan of its own.
        min_files_per_subplan: files that a subplan keeps when the imports draw some away; with `split` deep, the
            number of files from which on a part is split no further.
        max_depth: levels below the root; the limits hold all the same.
        max_children: subplans directly below one node, where `max_depth` leaves room for a further level.
        cohesion: what keeping a file beside the files of its directory counts against its imports: 0 imports alone,
            1 hardly any directory is torn.
        split: `limits` stops where a part is within the limits, `deep` goes on to `min_files_per_subplan`.
        execution_mode, max_parallel, fail_fast, max_retries, timeout_per_subplan, on_conflict, max_reopened: see
            `bakeoff.plan.run.plan.SubplanConfig`. Plans in files say it themselves.
    """

    max_files_per_subplan: int = 50
    max_tokens_per_subplan: int = 100_000
    min_files_per_subplan: int = 3
    max_depth: int = 8
    max_children: int = 20
    cohesion: float = 0.25
    split: str = "limits"
    execution_mode: str = "parallel"
    max_parallel: int = 5
    fail_fast: bool = False
    max_retries: int = 0
    timeout_per_subplan: float | None = None
    on_conflict: str = "reopen"
    max_reopened: int = 1


def _several(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 2:
        raise ValueError("a whole number from 2")
    return value


def _from_nothing(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("a whole number from 0")
    return value


PLAN: Mapping[str, Check] = {
    "max_files_per_subplan": whole,
    "max_tokens_per_subplan": whole,
    "min_files_per_subplan": whole,
    "max_depth": whole,
    "max_children": _several,
    "cohesion": amount,
    "split": one_of(SPLITS),
    "execution_mode": one_of(MODES),
    "max_parallel": whole,
    "fail_fast": flag,
    "max_retries": _from_nothing,
    "timeout_per_subplan": above,
    "on_conflict": one_of(ON_CONFLICT),
    "max_reopened": _from_nothing,
}


def plan_settings(body: Mapping[str, Any], where: str) -> PlanSettings:
    """The table of plans, checked; `where` names it. Passes on SettingsError."""
    return PlanSettings(**checked(body, PLAN, f"{where}."))
