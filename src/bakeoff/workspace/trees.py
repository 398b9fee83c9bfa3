"""A snapshot checked out once, and never written again: what overlay slots stand on, with its own `.git` inside."""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bakeoff.workspace.cache import ProjectCache
from bakeoff.workspace.git import Git
from bakeoff.workspace.git_folder import make_git_folder
from bakeoff.workspace.locks import FileLock, wait_for_lock
from bakeoff.workspace.project import Project
from bakeoff.workspace.repository import Repository
from bakeoff.workspace.snapshot import Entries, Snapshot, read_entries


@dataclass
class Base:
    """What every slot of a snapshot starts from.

    Attributes:
        project: the user's work tree.
        repository: bakeoff's own.
        snapshot: what the slots hold.
        excludes: ignore rules that stand in no file of the tree, with the paths that are put into slots.
    """

    project: Project
    repository: Repository
    snapshot: Snapshot
    excludes: bytes

    @cached_property
    def entries(self) -> Entries:
        """The snapshot's files; read from git on first use."""
        return read_entries(self.repository, self.snapshot.tree)

    def checkout(self, tree: Path, index: Path) -> None:
        """Write all files of the snapshot into the empty folder `tree`; no filter is run, nothing is fetched."""
        git = self.git(tree, index)
        git.run("read-tree", self.snapshot.commit)
        workers = f"checkout.workers={min(4, os.cpu_count() or 1)}"
        git.at(config=(*git.config, workers)).run("checkout-index", "--all", "--index", "--quiet")

    def git(self, tree: Path, index: Path | None = None) -> Git:
        """Our git, with files looking as the user wants them and `tree` as its work tree."""
        git = self.repository.git()
        return git.at(work_tree=tree, index=index, config=self.project.form, cwd=tree)


@dataclass
class Tree:
    """A materialised snapshot.

    Attributes:
        path: the checkout; it has a `.git` of its own.
        lock: held while it is in use, so that nobody cleans it away.
    """

    path: Path
    lock: FileLock


def materialise(cache: ProjectCache, base: Base) -> Tree:
    """The checkout of the snapshot: made by whoever comes first, waited for by others. To be called in a thread."""
    digest = hashlib.sha256(base.excludes + repr(base.project.form).encode()).hexdigest()[:8]
    home = cache.trees / f"{base.snapshot.commit}-{digest}"
    if not home.is_dir():
        lock = wait_for_lock(cache.trees / f"{home.name}.making")
        try:
            if not home.is_dir():
                _make(cache, base, home)
        finally:
            lock.release()
    lock = wait_for_lock(cache.trees / f"{home.name}.lock", shared=True)
    if not home.is_dir():  # cleaned away between the two locks
        lock.release()
        return materialise(cache, base)
    os.utime(home)
    return Tree(home / "tree", lock)


def _make(cache: ProjectCache, base: Base, home: Path) -> None:
    fresh = cache.trees / f".new.{secrets.token_hex(6)}"
    tree = fresh / "tree"
    tree.mkdir(parents=True)
    try:
        make_git_folder(tree / ".git", base.project, base.repository, base.snapshot, base.excludes)
        base.checkout(tree, tree / ".git" / "index")
        fresh.rename(home)
    except BaseException:
        cache.bury(fresh)
        raise
