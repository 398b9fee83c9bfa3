"""Commits of bakeoff's repository as candidates."""

from __future__ import annotations

from bakeoff.workspace.results import changed_between
from bakeoff.workspace.workspace import Workspace


def changed_files(workspace: Workspace, commit: str) -> dict[str, bytes | None]:
    """The new contents of each file that a commit changes in the snapshot; None: removed. Blocks.

    Passes on GitError: it cannot be read.
    """
    repository = workspace.repository
    git = repository.git()
    found: dict[str, bytes | None] = {}
    for change in changed_between(repository, workspace.snapshot.commit, commit):
        path = change.path.encode("utf-8", "surrogateescape")
        gone = change.status == "D"
        found[change.path] = None if gone else git.run("cat-file", "blob", commit.encode() + b":" + path)
    return found
