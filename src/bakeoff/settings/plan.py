"""`[tool.bakeoff.plan]`: how a project is split into subplans, and how these are carried out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bakeoff.options.kinds import SECONDS, Choice, Flag, Number, Whole
from bakeoff.options.option import option

from .checks import checked, checks_of

Split = Literal["limits", "deep"]
Mode = Literal["sequential", "parallel", "dependency_ordered"]
OnConflict = Literal["reopen", "leave_out", "ours_first", "fail"]


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """Options of splitting and of carrying out, where a command or step does not give them.

    Plans in files say themselves how they are carried out, in `config`: see `bakeoff.plan.run.options.SubplanConfig`.
    """

    max_files_per_subplan: int = option(50, Whole(1), "Files of one subplan.", flag="--max-files", metavar="N")
    max_tokens_per_subplan: int = option(
        100_000,
        Whole(1),
        "Tokens of the files of one subplan; a larger file is a subplan of its own.",
        flag="--max-tokens",
        metavar="N",
    )
    min_files_per_subplan: int = option(
        3,
        Whole(1),
        "Files that a subplan keeps when imports draw some away; with `split` deep, where splitting ends.",
        flag="--min-files",
        metavar="N",
    )
    max_depth: int = option(8, Whole(1), "Levels below the root; the limits hold all the same.", metavar="N")
    max_children: int = option(
        20, Whole(2), "Subplans directly below one, where there is room for a further level.", metavar="N"
    )
    cohesion: float = option(
        0.25,
        Number(least=0),
        "0: imports alone draw files to others; 1: directories stay whole.",
        metavar="X",
    )
    split: str = option("limits", Choice(get_args(Split)), "Stop at the limits, or go on to `min_files_per_subplan`.")
    execution_mode: str = option(
        "parallel",
        Choice(get_args(Mode)),
        "One after the other, all at once, or each after those whose files it imports.",
        flag="--mode",
    )
    max_parallel: int = option(5, Whole(1), "Subplans at work at once.")
    fail_fast: bool = option(False, Flag(), "With the first that fails, cancel all others.")
    max_retries: int = option(0, Whole(0), "Further tries of a subplan that fails.")
    timeout_per_subplan: float | None = option(None, SECONDS, "Seconds for one try of a subplan.")
    on_conflict: str = option(
        "reopen",
        Choice(get_args(OnConflict)),
        "Give it back to its owner, land the rest, land it without what conflicts, or land nothing.",
    )
    max_reopened: int = option(1, Whole(0), "How often what conflicts or breaks others is given back.")


def plan_settings(body: Mapping[str, Any], where: str) -> PlanSettings:
    """The table of plans, checked; `where` names it. Passes on SettingsError."""
    return PlanSettings(**checked(body, checks_of(PlanSettings), f"{where}."))
