"""`[tool.bakeoff.merge]`: how results are merged and verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bakeoff.options.kinds import Choice, Flag, Pairs, Texts, Whole
from bakeoff.options.option import option

from .checks import checked, checked_value, checks_of, table

STRATEGIES = ("three_way", "fail_on_conflict", "ours_first")


@dataclass(frozen=True, slots=True)
class MergeSettings:
    """Options of merging; a command that does not give one takes it from here."""

    strategy: str = option(
        "three_way",
        Choice(STRATEGIES),
        "In a conflict the later one stays out, nothing lands, or what it has is dropped.",
    )
    union: tuple[str, ...] = option(
        (), Texts(), "Files, such as changelogs, whose lines may come from both sides.", metavar="GLOB"
    )
    lockfiles: tuple[tuple[str, str], ...] = option(
        (), Pairs(), "For globs of lockfiles the shell command that makes one anew, run at the top of a slot."
    )
    structured: bool = option(
        True, Flag(), "Merge by structure: JSON, TOML and YAML by key, Python by statement, prose by paragraph."
    )
    width: int = option(
        1,
        Whole(1),
        "Merges tested at once in the search for a culprit; more take less time and more runs.",
        flag="--at-once",
        metavar="N",
    )


def merge_settings(body: Any, where: str) -> MergeSettings:
    """The table, checked; `where` names it. Passes on SettingsError: it is wrong."""
    return MergeSettings(**checked(checked_value(table, body, where), checks_of(MergeSettings), f"{where}."))
