"""What changed in a slot, as found on disk: nothing of it is believed, and nothing of it is read yet."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.workspace.files import kind_of
from bakeoff.workspace.mounts import is_opaque


@dataclass(frozen=True, slots=True)
class Refused:
    """A path of a slot that is not in its result, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class Changes:
    """What is in a slot otherwise than in its snapshot.

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
    """What an overlay's upper layer says; a top-level `.git` is the agent's own and passed over."""
    changes = Changes(upper, lower)
    descriptor = os.open(upper, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _walk(changes, descriptor, b"")
    finally:
        os.close(descriptor)
    return changes


def _walk(changes: Changes, descriptor: int, folder: bytes) -> None:
    with os.scandir(descriptor) as entries:
        found = [(os.fsencode(entry.name), entry.stat(follow_symlinks=False)) for entry in entries]
    for name, status in found:
        path = folder + b"/" + name if folder else name
        if path == b".git":
            continue
        if stat.S_ISDIR(status.st_mode):
            _enter(changes, descriptor, name, path)
        elif stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            changes.gone.add(path)
        else:
            note(changes, path, status)


def _enter(changes: Changes, descriptor: int, name: bytes, path: bytes) -> None:
    changes.folders.add(path)
    try:
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
    except OSError as failure:
        changes.refuse(path, f"it cannot be looked into: {failure.strerror}")
        return
    try:
        if is_opaque(inner):
            changes.gone.add(path)
        _walk(changes, inner, path)
    finally:
        os.close(inner)
