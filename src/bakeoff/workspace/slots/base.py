"""Base of a snapshot's slots, made once: its objects, and a checkout that is never written again.

Overlay slots stand on the checkout, which has its own `.git` inside. The objects are the snapshot's with its history,
and none of an attempt: what repositories in slots borrow from.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bakeoff.workspace.filters.attributes import check_out, filters_in, rules_of, temporary
from bakeoff.workspace.filters.drivers import Driver
from bakeoff.workspace.filters.racy_git import backdate
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.locks import FileLock, wait_for_lock
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.slots.git_folder import make_git_folder
from bakeoff.workspace.snapshot.cone import Cone, folders_above
from bakeoff.workspace.snapshot.project import Project
from bakeoff.workspace.snapshot.snapshot import GITLINK, Entries, Snapshot, read_entries


@dataclass
class Base:
    """The base that every slot of a snapshot starts from.

    Attributes:
        project: the user's work tree.
        repository: bakeoff's own.
        snapshot: what the slots hold.
        excludes: ignore rules that stand in no file of the tree, with the paths that are put into slots.
        objects: the folder that repositories in slots borrow from; None while there are none.
        given: paths that slots have from elsewhere.
        own_work: what is checked out in slots is the user's own work: its own attributes say which filters are run.
    """

    project: Project
    repository: Repository
    snapshot: Snapshot
    excludes: bytes
    objects: Path | None = None
    given: tuple[str, ...] = ()
    own_work: bool = False

    @cached_property
    def entries(self) -> Entries:
        """The snapshot's files; read from git on first use."""
        return read_entries(self.repository, self.snapshot.tree)

    @property
    def origin(self) -> str:
        """The tree whose attributes say which content filters are run."""
        return self.snapshot.origin or self.snapshot.tree

    @cached_property
    def rules(self) -> dict[bytes, bytes]:
        """The `.gitattributes` of that tree."""
        own = self.origin == self.snapshot.tree
        return rules_of(self.repository, (self.entries if own else read_entries(self.repository, self.origin)).files)

    @cached_property
    def _changed_rules(self) -> bool:
        """Whether the files are to be written by other rules than those in the snapshot."""
        own = self.origin == self.snapshot.tree or not self.project.filters
        return not own and rules_of(self.repository, self.entries.files) != self.rules

    @cached_property
    def filters(self) -> dict[bytes, str]:
        """The snapshot's files that attributes send through a content filter, with its name."""
        with filters_in(self.project, self.repository, self.rules) as filters:
            return filters.named(path for path, (mode, _) in self.entries.files.items() if mode.startswith(b"100"))

    @cached_property
    def filtered(self) -> dict[bytes, Driver]:
        """Those whose filter the user's configuration has."""
        known = {driver.name: driver for driver in self.project.filters}
        return {path: known[name] for path, name in self.filters.items() if name in known}

    @property
    def borrowed(self) -> Path:
        """The objects for repositories in slots."""
        return self.objects or self.repository.objects

    def checkout(self, tree: Path, index: Path, cone: Cone | None = None) -> None:
        """Write the files of the snapshot into the empty folder `tree`, as a checkout would; nothing is fetched by git.

        With a `cone` only the files that it has, and the index says of all others that they are not there.

        Passes on GitError: a content filter that is required failed, or the disk is full.
        """
        git = self.git(tree, index)
        git.run("read-tree", self.snapshot.commit)
        inside = None
        if cone is not None:
            parts = cone.parts(self.entries.files)
            inside, outside = (b"".join(path + b"\0" for path in part) for part in parts)
            git.run("update-index", "--skip-worktree", "-z", "--stdin", data=outside)
        self.write(tree, index, inside)

    def write(self, tree: Path, index: Path, paths: bytes | None = None) -> None:
        """Write files of an index of ours: all, or those with a NUL behind each. None of them is there.

        Passes on GitError: as for `checkout`.
        """
        git = self.repository.git_for(self.project, tree, index, filters=not self._changed_rules)
        # git 2.39 forgets encodings where it writes files in parallel.
        encoded = any(b"encoding" in text for text in (*self.rules.values(), self.project.attributes))
        git = git.at(config=(*git.config, f"checkout.workers={1 if encoded else min(4, os.cpu_count() or 1)}"))
        if self.filtered:  # or git would run each filter the other way to see whether files changed in this moment
            later = time.time() + _FUTURE
            os.utime(index, (later, later))
        check_out(git, "--index", data=paths)
        if self._changed_rules:
            self._smudge(tree, self.filtered if paths is None else set(paths.split(b"\0")) & self.filtered.keys())
        if self.filtered:
            backdate(index, self.project.object_size, tree, self.filtered)

    def _smudge(self, tree: Path, paths: Iterable[bytes]) -> None:
        """Have those files that stand in `tree`, as they are stored, go through their filters."""
        there = [path for path in paths if os.path.lexists(os.path.join(os.fsencode(tree), path))]
        with filters_in(self.project, self.repository, self.rules) as filters, temporary(self.repository) as out:
            filters.smudged({path: self.entries.files[path] for path in there}, out)
            for path in there:
                os.replace(os.path.join(os.fsencode(out), path), os.path.join(os.fsencode(tree), path))

    def given_below(self, path: bytes) -> str | None:
        """A path that slots are given below this one, where so no file can stand; None for none."""
        return self._given_below.get(path)

    @cached_property
    def _given_below(self) -> dict[bytes, str]:
        return {folder: given for given in self.given for folder in folders_above([os.fsencode(given)])}

    def set_aside(self, index: Path) -> None:
        """Have a slot's git, whose index this is, not look into submodules that are given: theirs is not there."""
        given = [os.fsencode(path) for path in self.given]
        inside = [
            path
            for path, (mode, _) in self.entries.files.items()
            if mode == GITLINK and any(_meet(path, other) for other in given)
        ]
        if inside:
            git = self.repository.git().at(index=index, work_tree=index.parent, cwd=index.parent)
            git.run("update-index", "--skip-worktree", "-z", "--stdin", data=b"".join(path + b"\0" for path in inside))

    def git(self, tree: Path, index: Path | None = None) -> Git:
        """The user's git, with `tree` as its work tree and the snapshot's objects."""
        return self.repository.git_for(self.project, tree, index)


def _meet(one: bytes, other: bytes) -> bool:
    """Whether one path is the other, or lies in it."""
    return one == other or one.startswith(other + b"/") or other.startswith(one + b"/")


_FUTURE = 3600.0
"""Seconds by which an index seems newer than the files that are written with it."""


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
    drivers = sorted({driver.identity(base.project.root) for driver in base.filtered.values()})
    asked = [name for name in os.environ if name.startswith("GIT_LFS_")] if drivers else []
    drivers += [base.origin] if drivers else []
    look = repr((base.project.form, base.project.attributes, drivers, [(name, os.environ[name]) for name in asked]))
    digest = hashlib.sha256(base.excludes + look.encode("utf-8", "surrogateescape") + b"3").hexdigest()[:8]

    def make(fresh: Path) -> None:
        tree = fresh / "tree"
        tree.mkdir()
        make_git_folder(tree / ".git", base.project, base.borrowed, base.snapshot, base.excludes)
        base.checkout(tree, tree / ".git" / "index")
        base.set_aside(tree / ".git" / "index")

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
