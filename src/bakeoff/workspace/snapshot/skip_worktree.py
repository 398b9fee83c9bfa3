"""Files marked `--assume-unchanged` or `--skip-worktree`, which users keep to themselves: on no branch, never lost."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable

from bakeoff.workspace.errors import GitError
from bakeoff.workspace.filters.attributes import quoted
from bakeoff.workspace.repository.git import Git

# Tag, mode, object and path of a file with either mark, as in "h 100644 0123... 0\tpath".
_MARKED = re.compile(rb"(?<=\0)[a-zS] (\d+) ([0-9a-f]+) 0\t([^\0]+)")

Marked = dict[bytes, tuple[bytes, bytes]]
"""Mode and object id by path."""


def marked_files(git: Git, listing: bytes | None = None) -> Marked:
    """The files of the index that git was told not to look at; `listing` is what `ls-files -s -v -z` has said."""
    listing = b"\0" + (git.run("ls-files", "-s", "-v", "-z") if listing is None else listing)
    # What is rare is looked for by plain text first: that takes a tenth of the time.
    found = _MARKED.findall(listing) if any(tag in listing for tag in (b"\0h ", b"\0s ", b"\0S ")) else []
    return {path: (mode, oid) for mode, oid, path in found}


def kept_back(git: Git, marked: Marked, among: Iterable[bytes] | None = None) -> list[bytes]:
    """Those of the files that are there with another content than the index has; not by their status: that may lie.

    Args:
        git: of the user's repository.
        marked: the files.
        among: the paths that are asked about; None for all.
    """
    root = os.fsencode(git.work_tree or "")
    asked = marked if among is None else marked.keys() & set(among)
    folders = {folder: os.path.isdir(os.path.join(root, folder)) for folder in {os.path.dirname(p) for p in asked}}
    found = []
    regular = []
    for path in sorted(asked):
        place = os.path.join(root, path)
        if not folders[os.path.dirname(path)] or not os.path.lexists(place):
            continue
        mode, oid = marked[path]
        if stat.S_ISREG(os.lstat(place).st_mode) and mode.startswith(b"100"):
            regular.append(path)
        elif not (mode == b"120000" and os.path.islink(place) and _id(git, os.readlink(place)) == oid):
            found += [path] if mode != b"160000" else []
    ids = _ids(git, regular)
    return sorted([*found, *(path for path in regular if ids.get(path) != marked[path][1])])


def _ids(git: Git, paths: list[bytes]) -> dict[bytes, bytes]:
    """Blob ids of files as git would store them; of those that can be stored."""
    data = b"".join(quoted(path) + b"\n" for path in paths)
    _, out, _ = git.both("hash-object", "--stdin-paths", data=data, statuses=range(256)) if paths else (0, b"", b"")
    return dict(zip(paths, out.split(), strict=False))


def _id(git: Git, content: bytes) -> bytes:
    try:
        return git.run("hash-object", "--stdin", data=content).strip()
    except GitError:
        return b""
