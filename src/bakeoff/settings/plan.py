"""`[tool.bakeoff.plan]`: how a project is split into subplans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .checks import Check, amount, checked, one_of, whole

SPLITS = ("limits", "deep")


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """How files become subplans.

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
    """

    max_files_per_subplan: int = 50
    max_tokens_per_subplan: int = 100_000
    min_files_per_subplan: int = 3
    max_depth: int = 8
    max_children: int = 20
    cohesion: float = 0.25
    split: str = "limits"


def _several(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 2:
        raise ValueError("a whole number from 2")
    return value


PLAN: Mapping[str, Check] = {
    "max_files_per_subplan": whole,
    "max_tokens_per_subplan": whole,
    "min_files_per_subplan": whole,
    "max_depth": whole,
    "max_children": _several,
    "cohesion": amount,
    "split": one_of(SPLITS),
}


def plan_settings(body: Mapping[str, Any], where: str) -> PlanSettings:
    """The table of plans, checked; `where` names it. Passes on SettingsError."""
    return PlanSettings(**checked(body, PLAN, f"{where}."))
