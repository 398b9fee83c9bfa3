"""Submodules: a tree has only the id of a commit of theirs, a gitlink. None of their files is read or written here."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from bakeoff.workspace.errors import GitError
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.snapshot.project import Project

MODE = "160000"
"""Of a gitlink."""

_RAW = re.compile(rb":(\d+) (\d+) [0-9a-f]+ ([0-9a-f]+) [A-Z]\0([^\0]+)")


def checked_out(project: Project) -> list[str]:
    """Paths of the submodules whose files the user has. Blocks."""
    entries = project.git().run("ls-files", "-s", "-z").split(b"\0")
    paths = [os.fsdecode(entry.partition(b"\t")[2]) for entry in entries if entry.startswith(f"{MODE} ".encode())]
    return [path for path in paths if os.path.lexists(project.root / path / ".git")]


def moved_submodules(git: Git, before: str, after: str) -> dict[str, str | None]:
    """Paths that are submodules in one of two trees or commits and not the same in the other. Blocks.

    Each with the commit that `after` has there; None where it has none.
    """
    out = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after)
    if MODE.encode() not in out:
        return {}
    found = {os.fsdecode(path): (old.decode(), new.decode(), oid.decode()) for old, new, oid, path in _RAW.findall(out)}
    return {path: oid if new == MODE else None for path, (old, new, oid) in found.items() if MODE in (old, new)}


@dataclass(frozen=True, slots=True)
class Submodules:
    """The submodules of a work tree, as far as they are checked out there: their history tells what is newer.

    Attributes:
        root: the top of the user's work tree.
    """

    root: Path

    def later(self, path: str, base: str, ours: str, theirs: str) -> str | None:
        """The later of two commits of the submodule at `path`: a descendant of the other, and both of `base`. Blocks.

        None where neither is, or nothing is known of them here: git merges submodules by the same rule.
        """
        place = self.root / path
        # A submodule's `.git` is a file or a folder; without it git would look for a repository further up.
        if not (place / ".git").exists() or os.path.realpath(place) != os.path.join(os.path.realpath(self.root), path):
            return None
        git = Git(owned=False, cwd=place)
        try:
            if not (_leads(git, base, ours) and _leads(git, base, theirs)):
                return None
            if _leads(git, ours, theirs):
                return theirs
            return ours if _leads(git, theirs, ours) else None
        except GitError:
            return None


def _leads(git: Git, lower: str, upper: str) -> bool:
    return git.both("merge-base", "--is-ancestor", lower, upper, statuses=(0, 1, 128))[0] == 0
