"""Place of one slot on disk, of whatever kind, and what must be known of it by whoever finds it later."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from bakeoff.workspace.filters.drivers import Driver
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.results.changes import Changes
from bakeoff.workspace.slots.base import Base
from bakeoff.workspace.slots.layers import provided
from bakeoff.workspace.snapshot.project import Project
from bakeoff.workspace.snapshot.snapshot import Snapshot


class SlotPlace(Protocol):
    """A work tree that can be looked at and undone. All methods block; they are called in threads.

    Attributes:
        kind: `overlay`, `repository` or `worktree`.
        path: its top, as a command in the slot sees it.
        bare: its top without the links that are mounted in it, as a command in the slot sees it.
        outside: its top, as this process sees it.
        cwd: a folder of this process's view to start commands in.
        prefix: what to put before a command so that it runs in the slot.
        holder: the process that holds its mounts; 0 where it has none.
        links: paths of the user's that it shows, by their path in it.
        git_folders: where the agent's own repository is, as far as bakeoff can tell without it.
    """

    kind: str
    path: str
    bare: str
    outside: Path
    cwd: str
    prefix: tuple[str, ...]
    holder: int
    links: dict[str, Path]

    def make(self) -> None:
        """Put it there."""

    def changes(self) -> Changes:
        """Differences from the snapshot."""

    def git_folders(self) -> list[Path]:
        """See above."""

    def reset(self) -> None:
        """Undo all changes; what is taken away is buried, not deleted here."""

    def close(self) -> None:
        """Let go of what the kernel holds for it; the files stay."""


@dataclass(frozen=True, slots=True)
class SlotSource:
    """Settings of a pool's slots that overlay and checkout slots share.

    Attributes:
        cache: the project's folder.
        base: what the slots start from.
        lower: the materialised snapshot, for overlays.
        layers: folders with what was copied or built once, the uppermost first.
        links: paths of the user's that are shown in slots, by their path in the slot.
        at: where overlay slots are mounted; None for a folder of their own.
    """

    cache: ProjectCache
    base: Base
    lower: Path | None
    layers: Sequence[Path]
    links: dict[str, Path]
    at: Path | None = None

    @property
    def given(self) -> frozenset[str]:
        """The paths that stand in a slot without being of the snapshot."""
        return frozenset([*self.links, *provided(self.layers)])


def write_facts(home: Path, kind: str, run: str, made: SlotSource) -> None:
    """Note in a slot's folder what is needed to save its work after its owner's death."""
    base = made.base
    facts = {
        "kind": kind,
        "run": run,
        "lower": None if made.lower is None else str(made.lower),
        "skip": sorted(made.given),
        "excludes": base.excludes.decode("latin-1"),
        "snapshot": asdict(base.snapshot) | {"left_out": []},
        "project": asdict(base.project) | {"excludes": "", "attributes": base.project.attributes.decode("latin-1")},
    }
    fresh = home / "slot.json.new"
    fresh.write_text(json.dumps(facts, default=str))
    os.replace(fresh, home / "slot.json")


def read_facts(home: Path) -> dict[str, Any]:
    """Facts that `write_facts` wrote; empty where it did not come to that."""
    try:
        found = json.loads((home / "slot.json").read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def base_of(cache: ProjectCache, facts: dict[str, Any]) -> Base:
    """The base of a slot whose facts were read."""
    said = facts["project"]
    project = Project(
        root=Path(said["root"]),
        # The work tree may be gone by now; the repository is not.
        git_dir=Path(said["git_dir"] if os.path.isdir(said["git_dir"]) else said["common_dir"]),
        common_dir=Path(said["common_dir"]),
        object_format=said["object_format"],
        form=tuple(said["form"]),
        identity=tuple(said["identity"]),
        filters=tuple(Driver(**driver) for driver in said["filters"] if isinstance(driver, dict)),
        attributes=said.get("attributes", "").encode("latin-1"),
        excludes=b"",
    )
    repository = Repository(cache.repository, project.object_format)
    snapshot = Snapshot(**(facts["snapshot"] | {"left_out": ()}))
    excludes, given = facts["excludes"].encode("latin-1"), tuple(facts.get("skip", ()))
    return Base(project, repository, snapshot, excludes, given=given)
