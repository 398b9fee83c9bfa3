"""Racy git, for files that went through a filter: git in a slot has nothing to compare their content by."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container
from pathlib import Path

from bakeoff.workspace.results.scan import ENTRY, positions

_BEFORE = 10_000_000_000
"""Nanoseconds by which files are made older than the index: git trusts status data that is."""

_WORD = 0xFFFFFFFF


def backdate(index: Path, object_size: int, tree: Path, paths: Container[bytes]) -> None:
    """Make those of the index's files a little older, and have the index say that they are as they should be.

    Without, a git that has not the filter, as in slots, sees changes where file and index are of the same second.

    Args:
        index: a git index whose files stand in `tree`.
        object_size: bytes of an object id, 20 or 32.
        tree: the work tree.
        paths: the files that it is about.

    Passes on WorkspaceError: it is no index.
    """
    data = bytearray(index.read_bytes())
    old_enough = index.stat().st_mtime_ns - _BEFORE // 2
    for path, at, skipped in positions(bytes(data), object_size, str(index)):
        file = os.path.join(os.fsencode(tree), path)
        if skipped or path not in paths or not os.path.isfile(file) or os.path.islink(file):
            continue
        found = os.lstat(file)
        if found.st_mtime_ns < old_enough:
            continue
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns - _BEFORE))
        found = os.lstat(file)
        entry = list(ENTRY.unpack_from(data, at))
        entry[:4] = [*divmod(found.st_ctime_ns, 10**9), *divmod(found.st_mtime_ns, 10**9)]
        entry[4:6] = [found.st_dev & _WORD, found.st_ino & _WORD]
        entry[9] = found.st_size & _WORD
        ENTRY.pack_into(data, at, *entry)
    body, old = data[:-object_size], data[-object_size:]
    if old.strip(b"\0"):  # else it goes without
        data[-object_size:] = (hashlib.sha256 if object_size == 32 else hashlib.sha1)(body).digest()
    index.write_bytes(data)
