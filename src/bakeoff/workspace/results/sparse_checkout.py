"""Sparse checkouts in slots, as by `git sparse-checkout set`: git took that away, nobody deleted it."""

from __future__ import annotations

import struct
from pathlib import Path

from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.files import read_small
from bakeoff.workspace.results.changes import Changes
from bakeoff.workspace.results.scan import entries_of
from bakeoff.workspace.slots.base import Base

_LIMIT = 256 << 20
"""Bytes of an index that are read, and of the paths in it: more than a million files take."""


_STAYS = "only what the slot had at the start can be deleted: it is not"
_MOST_SAID = 20
"""Files that are named one by one."""


def spare_narrowed(changes: Changes, base: Base, folder: Path) -> None:
    """Take out of `changes.gone` what the slot's own index says is left out of its work tree: it stays as it was.

    So does what the slot was not given and has fetched and deleted since; that is refused, to be said.

    Args:
        changes: what was found.
        base: what the slot started from.
        folder: what holds the slot's index. That is the agent's; one that cannot be read says nothing, and what it
            says can only keep a file.
    """
    data = read_small(folder, b"index", _LIMIT) if changes.gone or changes.hidden else None
    if data is None:
        return
    try:
        size = base.project.object_size
        left_out: set[bytes] = set()
        room = _LIMIT
        for path, _, skipped in entries_of(data, size, "it"):
            room -= len(path)
            if room < 0:  # a small index can say long paths
                return
            if skipped:
                left_out.add(path)
    except (WorkspaceError, struct.error, ValueError, IndexError):
        return
    fetched = sorted(path for path in changes.hidden - changes.files.keys() if not _is_in(path, left_out))
    for path in fetched[:_MOST_SAID]:
        changes.refuse(path, _STAYS)
    if fetched[_MOST_SAID:]:
        changes.refuse(fetched[_MOST_SAID], f"{_STAYS}; nor are {len(fetched) - _MOST_SAID - 1} more files")
    if not left_out:
        return
    for gone in list(changes.gone):
        lost = [gone] if gone in base.entries.files else base.entries.below(gone)
        spared = {path for path in lost if _is_in(path, left_out)}
        if spared:
            changes.gone.remove(gone)
            changes.gone.update(path for path in lost if path not in spared)
            changes.hidden |= spared


def index_folder(git: Path, kind: str) -> Path:
    """Folder that holds the index of a slot of this kind, whose git directory is `git`."""
    return git / "worktrees/tree" if kind == "worktree" else git


def _is_in(path: bytes, left_out: set[bytes]) -> bool:
    if path in left_out:
        return True
    while folder := path.rpartition(b"/")[0]:
        if folder + b"/" in left_out:
            return True
        path = folder
    return False
