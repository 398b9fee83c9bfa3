"""Merge in memory: three commits in, a tree out, or the paths in conflict. No work tree and no index is involved."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping

from bakeoff.report.escape import path_text
from bakeoff.workspace.errors import ApplyError
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.snapshot.submodules import MODE, Submodules


def commit_tree(git: Git, tree: str, parents: list[str], message: str) -> str:
    """A new commit that no ref keeps."""
    above = [part for parent in parents for part in ("-p", parent)]
    dates = {name: f"@{int(time.time())} +0000" for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")}
    return git.at(env={**git.env, **dates}).line("commit-tree", *above, "-m", message, tree)


def merge_trees(
    repository: Repository, base: str, ours: str, theirs: str, what: str, submodules: Submodules | None = None
) -> str:
    """The tree that has the changes from tree `base` to `ours` and those to `theirs`.

    Where both moved a submodule, `submodules` tells which commit is the newer one.

    Raises:
        ApplyError: they conflict; it lists the paths. `what` says in the message what could not be done.
    """
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    # Without parents in common git would not know the base; it takes commits only.
    root = commit_tree(repository.git(), base, [], "base")
    sides = [commit_tree(repository.git(), tree, [root], "side") for tree in (ours, theirs)]
    merge = ("merge-tree", "--write-tree", "--no-messages", "-z", *sides)
    status, out, _ = repository.git().both(*merge, statuses=(0, 1))
    tree, *conflicts = [part for part in out.split(b"\0") if part]
    if status == 0:
        return tree.decode()
    clashing: dict[bytes, list[list[str]]] = {}
    for entry in conflicts:
        facts, _, name = entry.partition(b"\t")
        clashing.setdefault(name, []).append(facts.decode().split(" "))
    moved = {name: _later(name, facts, submodules) for name, facts in clashing.items()}
    if None not in moved.values():
        return _with_gitlinks(repository, tree.decode(), moved)
    paths = tuple(dict.fromkeys(_path(name, sides) for name, later in moved.items() if later is None))
    shown = ", ".join(path_text(path) for path in paths[:10])
    raise ApplyError(f"{what}, because both sides changed {shown}; nothing was changed", paths)


def _later(name: bytes, facts: list[list[str]], submodules: Submodules | None) -> str | None:
    """The newer commit of a submodule that clashes; None for anything else."""
    if submodules is None or len(facts) < 3 or {mode for mode, _, _ in facts} != {MODE}:
        return None
    return submodules.later(os.fsdecode(name), *(oid for _, oid, _ in facts))


def _with_gitlinks(repository: Repository, tree: str, commits: Mapping[bytes, str | None]) -> str:
    """The tree with submodules at these commits."""
    index = repository.path / f"merge.{secrets.token_hex(6)}.index"
    git = repository.git().at(index=index)
    try:
        git.run("read-tree", tree)
        lines = [f"{MODE} {oid}\t".encode() + path + b"\0" for path, oid in commits.items()]
        git.run("update-index", "--replace", "-z", "--index-info", data=b"".join(lines))
        return git.line("write-tree")
    finally:
        index.unlink(missing_ok=True)


def _path(name: bytes, sides: list[str]) -> str:
    """The path of a conflict: where a side has a folder in the way of a file, git names that `PATH~SIDE`."""
    for side in sides:
        path, sign, more = name.rpartition(b"~" + side.encode())
        if sign and (not more or more.startswith(b"_")):
            return os.fsdecode(path)
    return os.fsdecode(name)
