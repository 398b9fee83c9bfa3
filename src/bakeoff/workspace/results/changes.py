"""Changes in a slot, as found on disk: nothing of it is believed, and nothing of it is read yet."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.system.folders import Folder, walk
from bakeoff.system.named_files import kind_of
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.slots.mounts import is_opaque

MOST = 500_000
"""Files and folders that one slot may change."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A path of a slot that is not in its result, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class Changes:
    """Differences between a slot and its snapshot.

    Attributes:
        root: the folder that the new files are read from.
        below: the folder that unchanged files are read from.
        files: regular files and links that are new or may have changed.
        folders: folders that are new or hold changes.
        gone: paths at and below which nothing of the snapshot is left, but for what stands in `files`.
        refused: what is neither file, link nor folder, or cannot be looked into.
        hidden: files of the snapshot that the slot was not given; they are as they were.
    """

    root: Path
    below: Path
    files: dict[bytes, os.stat_result] = field(default_factory=dict)
    folders: set[bytes] = field(default_factory=set)
    gone: set[bytes] = field(default_factory=set)
    refused: list[Refused] = field(default_factory=list)
    hidden: frozenset[bytes] = frozenset()

    def same(self, other: Changes) -> bool:
        """Whether nothing was touched between two looks at the same slot."""
        if (self.root, self.gone, self.folders, self.refused) != (other.root, other.gone, other.folders, other.refused):
            return False
        return self.files.keys() == other.files.keys() and all(
            _identity(found) == _identity(other.files[path]) for path, found in self.files.items()
        )

    def refuse(self, path: bytes, reason: str) -> None:
        """Note that `path` is left out."""
        self.refused.append(Refused(os.fsdecode(path), reason))

    def bound(self) -> None:
        """See that there are not so many that memory is short.

        Raises:
            WorkspaceError: there are.
        """
        if len(self.files) + len(self.folders) + len(self.gone) + len(self.refused) > MOST:
            raise WorkspaceError(f"more than {MOST:,} files and folders are new or changed in {self.root}")


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def note(changes: Changes, path: bytes, found: os.stat_result) -> None:
    """Sort in what stands at `path` and is no folder."""
    if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
        changes.files[path] = found
    else:
        changes.gone.add(path)
        changes.refuse(path, f"it is {kind_of(found.st_mode)}")


def read_upper(upper: Path, lower: Path) -> Changes:
    """Changes in an overlay's upper layer; a top-level `.git` is the agent's own and passed over.

    Passes on OSError: it cannot be looked into. WorkspaceError: there is too much in it.
    """
    changes = Changes(upper, lower)
    for folder in walk(upper):
        if folder.path and not entered(changes, folder):
            continue
        if folder.path and is_opaque(folder.descriptor):
            changes.gone.add(folder.path)
        for name, status in folder.entries:
            path = folder.below(name)
            if path == b".git" or stat.S_ISDIR(status.st_mode):
                continue
            if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                changes.gone.add(path)
            else:
                note(changes, path, status)
        changes.bound()
        if not folder.path:
            folder.inner = [name for name in folder.inner if name != b".git"]
    return changes


def entered(changes: Changes, folder: Folder) -> bool:
    """Note a folder that is new or holds changes; false, and refused, where it cannot be looked into."""
    changes.folders.add(folder.path)
    if folder.failure is not None:
        changes.refuse(folder.path, f"it cannot be looked into: {folder.failure.strerror}")
    return folder.failure is None
