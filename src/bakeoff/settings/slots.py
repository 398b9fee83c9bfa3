"""`[tool.bakeoff.slots]`: the places where attempts work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.options.kinds import Choice

from .checks import Check, checked, flag, text, texts, whole


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """Settings of slots, the places where attempts work.

    Attributes:
        kind: `auto`, or one kind that is then had or refused: `overlay`, `repository`, `worktree`.
        dirty: what a snapshot takes besides HEAD: `none`, `tracked` (changes to tracked files) or `all`.
        link: paths of the project that slots see but cannot change (a checkout slot has a link to them).
        copy: paths of the project that every slot has a copy of.
        submodules: whether every slot has a copy of the files of those submodules that are checked out.
        setup: shell command that builds what slots need; it runs once, and all slots share what it made.
        setup_inputs: the paths that its products depend on; without any, the whole tree.
        source_roots: folders with Python packages, first on a slot's PYTHONPATH.
        max_disk_mb: megabytes that all slots of the project may take together.
        max_file_mb: megabytes of one file above which a result leaves it out.
        network: `shared`; or `private`: steps with `workspace: slot` that run no agent have a loopback device of their
            own and no other network, so that many may use the same port.
        sparse: `never`; or `plans`: where overlays cannot be had and the project is large, the agent of a subplan gets
            only the folders that its subplan is about. Checks have all files.
        sparse_above: files from which on a project is large.
    """

    kind: str = "auto"
    dirty: str = "all"
    link: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    submodules: bool = False
    setup: str | None = None
    setup_inputs: tuple[str, ...] = ()
    source_roots: tuple[str, ...] = ()
    max_disk_mb: int | None = None
    max_file_mb: int = 100
    network: str = "shared"
    sparse: str = "never"
    sparse_above: int = 20_000


_SLOTS: Mapping[str, Check] = {
    "kind": Choice(("auto", "overlay", "repository", "worktree")),
    "dirty": Choice(("none", "tracked", "all")),
    "link": texts,
    "copy": texts,
    "submodules": flag,
    "setup": text,
    "setup_inputs": texts,
    "source_roots": texts,
    "max_disk_mb": whole,
    "max_file_mb": whole,
    "network": Choice(("shared", "private")),
    "sparse": Choice(("never", "plans")),
    "sparse_above": whole,
}


def slot_settings(body: Mapping[str, Any], where: str) -> SlotSettings:
    """The table of slots, checked; `where` names it. Passes on SettingsError."""
    return SlotSettings(**checked(body, _SLOTS, f"{where}."))
