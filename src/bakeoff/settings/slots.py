"""`[tool.bakeoff.slots]`: the places where attempts work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.options.kinds import Choice
from bakeoff.options.option import option

from .checks import checked, checks_of, flag, text, texts, whole


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """Settings of how slots, the places where attempts work, are made."""

    kind: str = option(
        "auto",
        Choice(("auto", "overlay", "repository", "worktree")),
        "`auto`, or one kind that is then had or refused: `overlay`, `repository`, `worktree`.",
    )
    dirty: str = option(
        "all",
        Choice(("none", "tracked", "all")),
        "What a snapshot takes besides HEAD: `none`, `tracked` (changes to tracked files) or `all`.",
    )
    link: tuple[str, ...] = option(
        (), texts, "Paths of the project that slots see but cannot change (a checkout slot has a link to them)."
    )
    copy: tuple[str, ...] = option((), texts, "Paths of the project that every slot has a copy of.")
    submodules: bool = option(
        False, flag, "Whether every slot has a copy of the files of those submodules that are checked out."
    )
    setup: str | None = option(
        None, text, "Shell command that builds what slots need; it runs once, and all slots share what it made."
    )
    setup_inputs: tuple[str, ...] = option(
        (), texts, "The paths that its products depend on; without any, the whole tree."
    )
    source_roots: tuple[str, ...] = option((), texts, "Folders with Python packages, first on a slot's PYTHONPATH.")
    max_disk_mb: int | None = option(None, whole, "Megabytes that all slots of the project may take together.")
    max_file_mb: int = option(100, whole, "Megabytes of one file above which a result leaves it out.")
    network: str = option(
        "shared",
        Choice(("shared", "private")),
        "`shared`; or `private`: steps with `workspace: slot` that run no agent have a loopback device of"
        " their own and no other network, so that many may use the same port.",
    )
    sparse: str = option(
        "never",
        Choice(("never", "plans")),
        "`never`; or `plans`: where overlays cannot be had and the project is large, the agent of a "
        "subplan gets only the folders that its subplan is about. Checks have all files.",
    )
    sparse_above: int = option(20_000, whole, "Files from which on a project is large.")


def slot_settings(body: Mapping[str, Any], where: str) -> SlotSettings:
    """The table of slots, checked; `where` names it. Passes on SettingsError."""
    return SlotSettings(**checked(body, checks_of(SlotSettings), f"{where}."))
