"""Sweep of slots whose owner died: their work is saved, then they are deleted. Live ones are never touched."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.engine.slow import said_when_slow
from bakeoff.workspace.blocking import StoppedError
from bakeoff.workspace.filters.slow_filters import storing
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.locks import FileLock, is_held, try_lock
from bakeoff.workspace.results.changes import Changes, read_upper
from bakeoff.workspace.results.pending_commit import PendingCommit, read_pending
from bakeoff.workspace.results.results import result_at
from bakeoff.workspace.results.salvage import known_trees, salvage_commits, salvage_files
from bakeoff.workspace.results.scan import read_index, scan
from bakeoff.workspace.results.sparse_checkout import index_folder, spare_narrowed
from bakeoff.workspace.slots.base import Base
from bakeoff.workspace.slots.overlay import uppers
from bakeoff.workspace.slots.place import base_of, read_facts


@dataclass(slots=True)
class Swept:
    """Outcome of a sweep.

    Attributes:
        slots: ids of the slots that are gone.
        saved: refs that keep work that was in them.
        kept: slots whose work could not be saved, with the reason; they are still there.
    """

    slots: list[str] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


def slot_names(cache: ProjectCache) -> list[str]:
    """The ids of all slots of the project, live or dead."""
    found = {path.name.removesuffix(".lock") for path in cache.slots.iterdir()} if cache.slots.is_dir() else set()
    return sorted(name for name in found if not name.startswith("."))


def dead_slots(cache: ProjectCache) -> list[str]:
    """The ids of the slots that nobody owns."""
    return [name for name in slot_names(cache) if not is_held(cache.slots / f"{name}.lock")]


def sweep(cache: ProjectCache, due: Mapping[str, PendingCommit] | None = None) -> Swept:
    """Save the work of dead owners' slots and bury them. To be called in a thread.

    Whatever is in one of them, at most that one cannot be saved, and stays.

    Args:
        cache: the project's.
        due: results that a run has on record as due, by slot.

    Raises:
        StoppedError: the work was cancelled.
    """
    swept = Swept()
    for name in slot_names(cache):
        lock = try_lock(cache.slots / f"{name}.lock")
        if lock is None:
            continue
        try:
            with said_when_slow(storing(name, alive=False)):
                swept.saved += save_dead(cache, name, (due or {}).get(name))
        except StoppedError:
            lock.release()
            raise
        except Exception as failure:
            swept.kept[name] = str(failure) or type(failure).__name__
            lock.release()
            continue
        _bury(cache, name, lock)
        swept.slots.append(name)
    return swept


def lose(cache: ProjectCache, names: Collection[str]) -> list[str]:
    """Bury dead owners' slots without a look at what is in them; returns their ids. To be called in a thread."""
    gone = []
    for name in names:
        lock = try_lock(cache.slots / f"{name}.lock")
        if lock is not None:
            _bury(cache, name, lock)
            gone.append(name)
    return gone


def _bury(cache: ProjectCache, name: str, lock: FileLock) -> None:
    cache.bury(cache.slots / name)
    lock.remove()


def save_dead(cache: ProjectCache, name: str, known_due: PendingCommit | None = None) -> list[str]:
    """Keep what is in a slot without an owner; returns the refs. A result of it that is due is made first.

    Args:
        cache: the project's.
        name: the slot.
        known_due: what its run has on record of it; counts where there is no note of it, and no result yet.
    """
    home = cache.slots / name
    known = read_facts(home)
    if not known:  # it had not come so far that anybody could work in it
        return []
    base = base_of(cache, known)
    run = str(known["run"])
    trees = known_trees(base.repository, run)
    saved: list[str] = []
    if known_due is not None and result_at(base, known_due.ref) is not None:
        known_due = None  # it was made, and the slot may be as new again
    left, due = _left(home, base, known), read_pending(home, known_due)
    for number, (changes, folder) in enumerate(left, 1):
        spare_narrowed(changes, base, index_folder(folder, str(known["kind"])))
        whole = False
        if due is not None and number == len(left):  # the last is what the slot showed; those before were being buried
            made = due.make(base, changes)
            trees.add(made.tree)
            saved.append(made.ref)
            whole = not made.refused
        result = None if whole else salvage_files(base, run, name, changes, trees)
        if result is not None:
            trees.add(result.tree)
            saved.append(result.ref)
        saved += salvage_commits(base, run, name, folder, trees)
    return saved


def _left(home: Path, base: Base, known: dict[str, object]) -> list[tuple[Changes, Path]]:
    if known["kind"] == "overlay":
        return [(read_upper(upper, Path(str(known["lower"]))), upper / ".git") for upper in uppers(home)]
    index = home / "index"
    if not index.exists() or not (home / "git").exists():  # its checkout was not finished
        return []
    written = read_index(index, base.project.object_size)
    return [(scan(home / "tree", written, frozenset(_skipped(known))), home / "git")]


def _skipped(known: dict[str, object]) -> list[bytes]:
    paths = known.get("skip")
    return [str(path).encode("utf-8", "surrogateescape") for path in paths] if isinstance(paths, list) else []
