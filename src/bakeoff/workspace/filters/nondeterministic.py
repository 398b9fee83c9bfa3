"""Nondeterministic filters, as salted encryption: one content, another blob each time; what is unchanged stays."""

from __future__ import annotations

import filecmp
import os
from collections.abc import Mapping
from pathlib import Path

from bakeoff.workspace.errors import GitError, NoSpaceError
from bakeoff.workspace.repository.git import Git


def unchanged(git: Git, known: Mapping[bytes, tuple[bytes, bytes]], root: Path, target: Path) -> list[bytes]:
    """Those of the files below `root` that are what a checkout makes of the known blobs at their paths.

    Args:
        git: with a work tree that has the attributes, and an index that may be overwritten.
        known: mode and object id of each path.
        root: the folder that the files stand in.
        target: an empty folder to check the blobs out into.

    Raises:
        NoSpaceError: the disk is full.
    """
    if not known:
        return []
    lines = b"".join(b"%s %s\t%s\0" % (mode, oid, path) for path, (mode, oid) in known.items())
    data = b"".join(path + b"\0" for path in known)
    try:
        git.run("update-index", "-z", "--index-info", data=lines)
        git.run("checkout-index", "--quiet", f"--prefix={target}/", "-z", "--stdin", data=data)
    except NoSpaceError:
        raise
    except GitError:  # what was stored cannot be read, which says nothing of the files
        return []
    return [
        path for path in known if _same(os.path.join(os.fsencode(target), path), os.path.join(os.fsencode(root), path))
    ]


def _same(one: bytes, other: bytes) -> bool:
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False
