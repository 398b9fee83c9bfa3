"""Restored paths: another tree of a result, the same but for some paths, which are as the snapshot has them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from bakeoff.workspace.landing.merging import commit_tree
from bakeoff.workspace.repository.repository import Repository


@dataclass(frozen=True, slots=True)
class Restored:
    """A commit of bakeoff's repository and its tree."""

    commit: str
    tree: str


def restored(repository: Repository, snapshot: str, commit: str, paths: Iterable[str], ref: str) -> Restored:
    """`commit` with `paths` as `snapshot` has them, kept as `ref`, on top of the snapshot. To be called in a thread.

    Passes on GitError: bakeoff's repository cannot be written.
    """
    index = repository.path / f"restore.{secrets.token_hex(6)}.index"
    git = repository.git().at(index=index)
    wanted = [path.encode("utf-8", "surrogateescape") for path in paths]
    try:
        git.run("read-tree", commit)
        zero = b"0" * len(snapshot)
        lines = [b"0 %s\t%s\0" % (zero, path) for path in wanted]
        if wanted:
            known = git.at(config=("core.quotePath=false",)).run("ls-tree", "-r", "-z", "--full-tree", snapshot)
            asked = frozenset(wanted)
            for entry in known.split(b"\0")[:-1]:
                facts, _, path = entry.partition(b"\t")
                if path in asked:
                    mode, _, oid = facts.split(b" ")
                    lines.append(b"%s %s\t%s\0" % (mode, oid, path))
        git.run("update-index", "--replace", "-z", "--index-info", data=b"".join(lines))
        tree = git.line("write-tree")
    finally:
        index.unlink(missing_ok=True)
    made = commit_tree(repository.git(), tree, [snapshot], "As it is judged: tests and their configuration as before")
    repository.set_ref(ref, made)
    return Restored(made, tree)
