"""Scan of a checkout for changes: every file's status is compared with what git's index noted when it wrote it."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bakeoff.system.folders import walk
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.results.changes import Changes, note
from bakeoff.workspace.snapshot.cone import folders_above

ENTRY = struct.Struct(">10I")
"""Status data of an entry of an index: ctime, mtime, device, inode, mode, user, group, size."""

_WORD = 0xFFFFFFFF
_LONGEST = 1 << 14
"""Bytes of a path in an index; no system takes so long ones."""
Noted = tuple[int, int, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Written:
    """The status of each file of a checkout as it was written. A copy of a checkout's own index, kept outside of it.

    `hidden` are files of the snapshot that it was not given, `hidden_folders` folders that it has nothing of.
    """

    files: dict[bytes, Noted]
    folders: frozenset[bytes]
    hidden: frozenset[bytes] = frozenset()
    hidden_folders: frozenset[bytes] = frozenset()


_HIDDEN = "the project has something of another kind there, which this slot was not given"


def read_index(path: Path, object_size: int) -> Written:
    """The files in a git index of version 2, 3 or 4.

    Args:
        path: the index.
        object_size: bytes of an object id, 20 or 32.

    Passes on WorkspaceError: it is none.
    """
    files: dict[bytes, Noted] = {}
    folders: set[bytes] = set()
    hidden: set[bytes] = set()
    for name, noted, skipped in entries_of(path.read_bytes(), object_size, str(path)):
        if skipped:
            hidden.add(name)
            continue
        files[name] = noted
        folder = name.rpartition(b"/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    above = folders_above(hidden) - folders
    return Written(files, frozenset(folders), frozenset(hidden), frozenset(above))


def entries_of(data: bytes, object_size: int, name: str) -> Iterator[tuple[bytes, Noted, bool]]:
    """The entries of a git index of version 2, 3 or 4: path, status, and whether it is to be left out of the work tree.

    Where the index is sparse, the path of a whole folder that is left out ends with a slash.

    Passes on WorkspaceError: it is none; `name` is what the message calls it.
    """
    for path, at, skipped in positions(data, object_size, name):
        ctime, ctime_ns, mtime, mtime_ns, _, inode, mode, _, _, size = ENTRY.unpack_from(data, at)
        yield path, (ctime, ctime_ns, mtime, mtime_ns, inode, mode, size), skipped


def positions(data: bytes, object_size: int, name: str) -> Iterator[tuple[bytes, int, bool]]:
    """The same, with where each entry begins in place of its status.

    Raises:
        WorkspaceError: it is none; `name` is what the message calls it.
    """
    signature, version, count = struct.unpack_from(">4sII", data) if len(data) >= 12 else (b"", 0, 0)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise WorkspaceError(f"{name} is no git index of version 2, 3 or 4")
    at = 12
    path = b""
    for _ in range(count):
        begin = at
        if begin + ENTRY.size > len(data):
            raise WorkspaceError(f"{name} ends too early to be a git index")
        start = at + ENTRY.size + object_size
        (flags,) = struct.unpack_from(">H", data, start)
        extended = flags & 0x4000
        skipped = bool(extended and struct.unpack_from(">H", data, start + 2)[0] & 0x4000)
        start += 4 if extended else 2
        if version == 4:  # each path is what it shares with the one before, and the rest
            dropped, start = _number(data, start)
            end = data.index(b"\0", start)
            path = path[: len(path) - dropped] + data[start:end]
            at = end + 1
        else:
            end = data.index(b"\0", start)
            path = data[start:end]
            at += (end - at) // 8 * 8 + 8
        if len(path) > _LONGEST:
            raise WorkspaceError(f"{name} has a path of more than {_LONGEST} bytes")
        yield path, begin, skipped


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable width, as in packs, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = (value + 1 << 7) + (data[at] & 0x7F)
    return value, at + 1


def scan(tree: Path, written: Written, skip: frozenset[bytes]) -> Changes:
    """Changes in `tree` since it was written; paths in `skip` were put there by bakeoff.

    Passes on OSError: it cannot be looked into. WorkspaceError: there is too much in it.
    """
    changes = Changes(tree, tree, hidden=written.hidden)
    unseen = set(written.files)
    for folder in walk(tree):
        if folder.failure is not None:
            changes.refuse(folder.path, f"it cannot be looked into: {folder.failure.strerror}")
            unseen.difference_update([path for path in unseen if path.startswith(folder.path + b"/")])
            continue
        folder.inner = []
        for name, found in folder.entries:
            path = folder.below(name)
            if path == b".git" or path in skip:
                unseen.discard(path)  # a submodule may stand there in the snapshot
                continue
            if path in (written.hidden if stat.S_ISDIR(found.st_mode) else written.hidden_folders):
                # Whoever put it there did not see what it would take away.
                changes.refuse(path, _HIDDEN)
                continue
            noted = written.files.get(path)
            if stat.S_ISDIR(found.st_mode):
                if noted is not None and noted[5] == 0o160000:
                    unseen.discard(path)
                elif path not in written.folders:
                    changes.folders.add(path)
                folder.inner.append(name)
            elif noted is not None and _same(noted, found):
                unseen.discard(path)
            else:
                unseen.discard(path)
                note(changes, path, found)
        changes.bound()
    changes.gone |= unseen
    return changes


def _same(noted: Noted, found: os.stat_result) -> bool:
    ctime, ctime_ns, mtime, mtime_ns, inode, mode, size = noted
    return (
        found.st_ctime_ns == ctime * 1_000_000_000 + ctime_ns
        and found.st_mtime_ns == mtime * 1_000_000_000 + mtime_ns
        and found.st_ino & _WORD == inode
        and found.st_size & _WORD == size
        and (stat.S_ISLNK(found.st_mode) == (mode == 0o120000))
    )
