"""Commits of bakeoff's repository as candidates."""

from __future__ import annotations

import os

from bakeoff.workspace.filters.filters import checkout_contents
from bakeoff.workspace.results.results import changed_between
from bakeoff.workspace.workspace import Workspace


def changed_files(workspace: Workspace, commit: str) -> dict[str, bytes | None]:
    """The new contents of each file that a commit changes in the snapshot; None: removed. Blocks.

    Passes on GitError: it cannot be read.
    """
    repository = workspace.repository
    git = repository.git()
    changed = changed_between(repository, workspace.snapshot.commit, commit)
    filtered = checkout_contents(workspace.base, commit, [os.fsencode(change.path) for change in changed])
    found: dict[str, bytes | None] = {}
    for change in changed:
        path = os.fsencode(change.path)
        if change.status == "D":
            found[change.path] = None
        elif path in filtered:
            found[change.path] = filtered[path]
        else:
            found[change.path] = git.run("cat-file", "blob", commit.encode() + b":" + path)
    return found
