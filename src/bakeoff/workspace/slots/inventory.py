"""Inventory of the user's cache directory, for people, and cleaning away what nobody uses."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.system.folders import remove_tree
from bakeoff.workspace.errors import GitError, SlotError
from bakeoff.workspace.repository.cache import ProjectCache, projects
from bakeoff.workspace.repository.locks import facts, is_held, try_lock
from bakeoff.workspace.repository.repository import SALVAGE, Repository, disk_bytes, ref_part
from bakeoff.workspace.slots.deleting import delete_later
from bakeoff.workspace.slots.mounts import TRIAL
from bakeoff.workspace.slots.overlay import uppers
from bakeoff.workspace.slots.place import read_facts
from bakeoff.workspace.slots.sweep import Swept, dead_slots, lose, slot_names, sweep

_HALF_DONE = 3600.0
"""Seconds after which what somebody is writing counts as given up."""

_A_DAY = 86_400.0
"""The same for trees and layers, which take long to make."""

_IN_USE = (".trial.*", ".shadow.*", ".filters.*", ".apply.*", ".commits.*")
"""Folders in a repository that somebody works in for a moment."""

_UNUSED = "2.weeks.ago"
"""Age from which objects that no ref needs are deleted, as git does it."""


@dataclass(frozen=True, slots=True)
class SlotView:
    """One slot as people see it.

    Attributes:
        id: its name.
        kind: `overlay`, `repository` or `worktree`; None where nothing tells.
        project: the user's work tree.
        run: the run that it was made for.
        alive: whether its owner lives.
        owner: the owner's process id.
        age: seconds since it was made.
        size: bytes on disk that are its own.
        salvage: refs that keep work of it.
    """

    id: str
    kind: str | None
    project: str | None
    run: str | None
    alive: bool
    owner: int | None
    age: float | None
    size: int
    salvage: tuple[str, ...]


def slots(root: Path | None = None) -> list[SlotView]:
    """All slots of all projects, live ones first. To be called in a thread, or where blocking is no matter.

    Args:
        root: bakeoff's cache directory; None for the user's.
    """
    found = [
        _view(cache, name, saved)
        for cache in projects(root)
        for saved in [salvaged(cache)]
        for name in slot_names(cache)
    ]
    return sorted(found, key=lambda slot: (not slot.alive, slot.project or "", slot.id))


def salvaged(cache: ProjectCache) -> list[str]:
    """The refs that keep salvaged work of a project."""
    if not cache.repository.is_dir():
        return []
    try:
        return list(Repository(cache.repository).refs(SALVAGE))
    except GitError:
        return []


def _view(cache: ProjectCache, name: str, saved: list[str]) -> SlotView:
    home, lock = cache.slots / name, cache.slots / f"{name}.lock"
    said, known = facts(lock), read_facts(home)
    since = said.get("since")
    run = said.get("run")
    prefix = f"{SALVAGE}/{ref_part(str(run))}/{ref_part(name)}-"
    parts = [*changed, home / "tmp"] if (changed := uppers(home)) else [home]
    return SlotView(
        id=name,
        kind=_text(said.get("kind") or known.get("kind")),
        project=_text(said.get("project")) or cache.project or None,
        run=_text(run),
        alive=is_held(lock),
        owner=said.get("pid") if isinstance(said.get("pid"), int) else None,
        age=time.time() - since if isinstance(since, float) else None,
        size=sum(disk_bytes(part) for part in parts),
        salvage=tuple(ref for ref in saved if ref.startswith(prefix)),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


@dataclass(slots=True)
class Cleaning:
    """Outcome of cleaning, done or only tried.

    Attributes:
        slots: slots of dead owners.
        saved: refs that keep work that was in them.
        kept: slots whose work could not be saved, and why.
        lost: slots that went with all that was in them, and why.
        unused: materialised snapshots and layers that nobody uses now.
        size: bytes on disk of all that.
    """

    slots: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    size: int = 0


def clean(root: Path | None = None, *, dry_run: bool = False) -> Cleaning:
    """Save and bury dead owners' slots, bury what no live slot stands on, and delete what is buried, later.

    Snapshots, results and salvaged work stay: they are refs of bakeoff's repositories.
    """
    done = Cleaning()
    for cache in projects(root):
        if not cache.slots.is_dir():
            continue
        done.size += sum(disk_bytes(cache.slots / name) for name in dead_slots(cache))
        swept = Swept(slots=dead_slots(cache)) if dry_run else sweep(cache)
        done.slots += swept.slots
        done.saved += swept.saved
        done.kept |= swept.kept
        _bury_unused(cache, done, dry_run, keep=bool(swept.kept))
        done.size += sum(disk_bytes(path) for path in cache.dead()) if dry_run else 0
        if not dry_run:
            _delete(cache)
    return done


def discard(names: Sequence[str], root: Path | None = None) -> Cleaning:
    """Remove these dead slots without a look at what is in them: for when that cannot be saved, or is not wanted.

    Raises:
        SlotError: there is no such slot, or it has an owner; nothing was removed.
    """
    places = {name: cache for cache in projects(root) for name in slot_names(cache) if name in names}
    for name in names:
        if name not in places:
            raise SlotError(f"there is no slot {name!r}; `bakeoff slots` lists them")
        if name not in dead_slots(places[name]):
            raise SlotError(f"slot {name} is not dead: its owner lives; `bakeoff slots` says who it is")
    done = Cleaning()
    for cache in set(places.values()):
        chosen = [name for name in names if places[name] == cache]
        done.size += sum(disk_bytes(cache.slots / name) for name in chosen)
        gone = lose(cache, chosen)
        done.slots += gone
        done.lost |= dict.fromkeys(gone, "it was discarded")
        _delete(cache)
    return done


def _delete(cache: ProjectCache) -> None:
    """Delete what is buried, later; what was left half done, stopped or for want of room; objects of runs long gone."""
    for trial in cache.root.glob(f"{TRIAL}*"):
        if _is_old(trial):
            cache.bury(trial)
    delete_later(cache.dead())
    for pattern in ("fast_import_crash_*", "objects/pack/tmp_*", "objects/??/tmp_obj_*"):
        for path in cache.repository.glob(pattern):
            with suppress(OSError):
                if _is_old(path):
                    path.unlink()
    for pattern in _IN_USE:
        for folder in cache.repository.glob(pattern):
            if _is_old(folder):
                remove_tree(folder, ignore_errors=True)
    if cache.repository.is_dir():
        with suppress(GitError):  # a full disk, say, or a repository that was made by nobody we know
            Repository(cache.repository).git().run("prune", f"--expire={_UNUSED}")


def _is_old(path: Path, seconds: float = _HALF_DONE) -> bool:
    """Whether it is there and was given up; whoever lives takes away what is his at any moment."""
    try:
        return time.time() - path.lstat().st_mtime > seconds
    except FileNotFoundError:
        return False


def _bury_unused(cache: ProjectCache, done: Cleaning, dry_run: bool, *, keep: bool) -> None:
    """Materialised snapshots and layers without a user; `keep` those that a slot which could not be saved may need."""
    if keep:
        return
    for folder in (cache.trees, cache.layers):
        for path in sorted(folder.iterdir()):
            if not path.is_dir():
                continue
            # Half-made ones belong to whoever holds some lock on making; they are taken a day later.
            if path.name.startswith(".new.") and not _is_old(path, _A_DAY):
                continue
            lock = try_lock(folder / f"{path.name}.lock")
            if lock is None:
                continue
            done.unused.append(path.name)
            done.size += disk_bytes(path)
            if dry_run:
                lock.release()
                continue
            cache.bury(path)
            (folder / f"{path.name}.making").unlink(missing_ok=True)
            lock.remove()
