"""`[tool.bakeoff.merge]`: how results are merged and verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .checks import Check, checked, checked_value, flag, one_of, table, texts, variables, whole

STRATEGIES = ("three_way", "fail_on_conflict", "ours_first")


@dataclass(frozen=True, slots=True)
class MergeSettings:
    """Settings of merging.

    Attributes:
        strategy: with a conflict the later result stays out (`three_way`), nothing lands (`fail_on_conflict`), or what
            it has in that place is dropped (`ours_first`).
        union: globs of files, such as changelogs, whose lines may come from both sides.
        lockfiles: for globs of lockfiles the shell command that makes one anew, run at the top of a slot.
        structured: merge JSON, TOML and YAML by key, and Python by definition.
        width: prefixes that are tested at once while a culprit is looked for; more take less time and more runs.
    """

    strategy: str = "three_way"
    union: tuple[str, ...] = ()
    lockfiles: tuple[tuple[str, str], ...] = ()
    structured: bool = True
    width: int = 1


def _lockfiles(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple(variables(value).items())


_MERGE: Mapping[str, Check] = {
    "strategy": one_of(STRATEGIES),
    "union": texts,
    "lockfiles": _lockfiles,
    "structured": flag,
    "width": whole,
}


def merge_settings(body: Any, where: str) -> MergeSettings:
    """The table, checked; `where` names it. Passes on SettingsError: it is wrong."""
    return MergeSettings(**checked(checked_value(table, body, where), _MERGE, f"{where}."))
