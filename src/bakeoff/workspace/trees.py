"""What is made once for all slots of a snapshot: its objects, and a checkout that is never written again.

Overlay slots stand on the checkout, which has its own `.git` inside. The objects are the snapshot's with its history,
and none of an attempt: what repositories in slots borrow from.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bakeoff.workspace.cache import ProjectCache
from bakeoff.workspace.cone import Cone
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
        objects: the folder that repositories in slots borrow from; None while there are none.
    """

    project: Project
    repository: Repository
    snapshot: Snapshot
    excludes: bytes
    objects: Path | None = None

    @cached_property
    def entries(self) -> Entries:
        """The snapshot's files; read from git on first use."""
        return read_entries(self.repository, self.snapshot.tree)

    @property
    def borrowed(self) -> Path:
        """The objects for repositories in slots."""
        return self.objects or self.repository.objects

    def checkout(self, tree: Path, index: Path, cone: Cone | None = None) -> None:
        """Write the files of the snapshot into the empty folder `tree`; no filter is run, nothing is fetched.

        With a `cone` only the files that it has, and the index says of all others that they are not there.
        """
        git = self.git(tree, index)
        git.run("read-tree", self.snapshot.commit)
        workers = f"checkout.workers={min(4, os.cpu_count() or 1)}"
        write = git.at(config=(*git.config, workers))
        if cone is None:
            write.run("checkout-index", "--all", "--index", "--quiet")
            return
        inside, outside = (b"".join(path + b"\0" for path in part) for part in cone.parts(self.entries.files))
        git.run("update-index", "--skip-worktree", "-z", "--stdin", data=outside)
        write.run("checkout-index", "--index", "--quiet", "-z", "--stdin", data=inside)

    def git(self, tree: Path, index: Path | None = None) -> Git:
        """Our git, with files looking as the user wants them and `tree` as its work tree."""
        git = self.repository.git()
        return git.at(work_tree=tree, index=index, config=self.project.form, cwd=tree)


@dataclass
class Tree:
    """A folder that slots of a snapshot share.

    Attributes:
        path: the folder.
        lock: held while it is in use, so that nobody cleans it away.
    """

    path: Path
    lock: FileLock


def materialise(cache: ProjectCache, base: Base) -> Tree:
    """The checkout of the snapshot, with a `.git` of its own. To be called in a thread."""
    digest = hashlib.sha256(base.excludes + repr(base.project.form).encode() + b"2").hexdigest()[:8]

    def make(fresh: Path) -> None:
        tree = fresh / "tree"
        tree.mkdir()
        make_git_folder(tree / ".git", base.project, base.borrowed, base.snapshot, base.excludes)
        base.checkout(tree, tree / ".git" / "index")

    home = _once(cache, f"{base.snapshot.commit}-{digest}", make)
    return Tree(home.path / "tree", home.lock)


def own_objects(cache: ProjectCache, base: Base) -> Tree:
    """The objects of the snapshot and its history: the user's by hard links, what is new in a pack.

    To be called in a thread.
    """

    def make(fresh: Path) -> None:
        own = Repository(fresh, base.project.object_format)
        for name in ("info", "pack"):
            (own.objects / name).mkdir(parents=True)
        git, head = base.repository.git(), base.snapshot.head
        asked = f"{base.snapshot.commit}\n"
        if base.snapshot.linked and head and own.link(base.project):
            there = git.at(objects=own.objects).both("cat-file", "-e", head, statuses=(0, 1, 128))[0] == 0
            asked += f"^{head}\n" if there else ""
        # The pack is begun where git has its objects, and can be moved within a file system only.
        packing = git.at(objects=own.objects, alternates=[base.repository.objects])
        packing.run("pack-objects", "-q", "--revs", f"{own.objects}/pack/pack", data=asked.encode())

    home = _once(cache, f"{base.snapshot.commit}-objects", make)
    return Tree(home.path / "objects", home.lock)


def _once(cache: ProjectCache, name: str, make: Callable[[Path], None]) -> Tree:
    """The folder `name`: made by whoever comes first, waited for by others."""
    home = cache.trees / name
    if not home.is_dir():
        lock = wait_for_lock(cache.trees / f"{name}.making")
        try:
            if not home.is_dir():
                fresh = cache.trees / f".new.{secrets.token_hex(6)}"
                fresh.mkdir(parents=True)
                try:
                    make(fresh)
                    fresh.rename(home)
                except BaseException:
                    cache.bury(fresh)
                    raise
        finally:
            lock.release()
    lock = wait_for_lock(cache.trees / f"{name}.lock", shared=True)
    if not home.is_dir():  # cleaned away between the two locks
        lock.release()
        return _once(cache, name, make)
    os.utime(home)
    return Tree(home, lock)
