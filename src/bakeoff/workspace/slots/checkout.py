"""The checkout slot, where overlays cannot be had: files of its own, reset by undoing what changed.

Its kind `repository` has a git directory of its own beside the tree; `worktree` a bare repository with one linked
work tree, for tools that insist on that. Either repository is the agent's and is never used by bakeoff.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from bakeoff.workspace.errors import SlotError
from bakeoff.workspace.repository.git import copy_index
from bakeoff.workspace.results.changes import Changes
from bakeoff.workspace.results.scan import Written, read_index, scan
from bakeoff.workspace.results.sparse_checkout import index_folder, spare_narrowed
from bakeoff.workspace.slots.git_folder import make_git_folder
from bakeoff.workspace.slots.place import SlotSource
from bakeoff.workspace.snapshot.cone import Cone


class CheckoutPlace:
    """A checkout in `home/tree`. bakeoff's own index of it, `home/index`, says how each file was written.

    With a `cone` it has only the files of that; it is ended after one lease, and never reset.
    """

    def __init__(self, home: Path, made: SlotSource, kind: str, cone: Cone | None = None) -> None:
        self.home = home
        self.kind = kind
        self._cone = cone
        self._made = made
        self._written: Written | None = None
        self.outside = home / "tree"
        self.path = self.bare = self.cwd = str(self.outside)
        self.prefix: tuple[str, ...] = ()
        self.holder = 0
        self.links = made.links

    def make(self) -> None:
        """Check the snapshot out."""
        self.outside.mkdir()
        self._made.base.checkout(self.outside, self.home / "index", self._cone)
        self._put_ready()

    def _put_ready(self) -> None:
        """Paths in the tree or beside it that are not of the snapshot: git directory, links and copies."""
        self._written = read_index(self.home / "index", self._made.base.project.object_size)
        base = self._made.base
        linked = self.kind == "worktree"
        folder = self.home / "git"
        make_git_folder(folder, base.project, base.borrowed, base.snapshot, base.excludes, bare=linked)
        inner = folder
        if linked:
            inner = index_folder(folder, self.kind)
            inner.mkdir(parents=True)
            (inner / "HEAD").write_bytes((folder / "HEAD").read_bytes())
            (inner / "commondir").write_text("../..\n")
            (inner / "gitdir").write_text(f"{self.outside}/.git\n")
        if self._cone is not None:
            self._cone.set_up(inner, folder / "config")
        copy_index(self.home / "index", inner / "index")
        base.set_aside(inner / "index")
        (self.outside / ".git").write_text(f"gitdir: {inner}\n")
        for target, source in self._made.links.items():
            link = self.outside / target
            with suppress(OSError):
                link.rmdir()  # a submodule is an empty folder
            if not os.path.lexists(link):
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(source)
        for layer in reversed(self._made.layers):
            _copy(layer, self.outside)

    def changes(self) -> Changes:
        """Changes found by a look at every file."""
        found = scan(self.outside, self._noted(), self._skip())
        spare_narrowed(found, self._made.base, index_folder(self.home / "git", self.kind))
        return found

    def git_folders(self) -> list[Path]:
        """The agent's repository."""
        return [self.home / "git"]

    def reset(self) -> None:
        """Take away what is new and write again what is not as it was.

        Raises:
            SlotError: a folder cannot be looked into, so that nobody knows what is in it.
        """
        changes = scan(self.outside, self._noted(), frozenset())
        for refused in changes.refused:
            if (self.outside / refused.path).is_dir():
                raise SlotError(f"{self.outside / refused.path}: {refused.reason}")
        # Files to be written again go first, too: while others are written, a rule that an attempt wrote would hold.
        for path in _tops(changes):
            self._made.cache.bury(self.outside / os.fsdecode(path))
        self._made.cache.bury(self.outside / ".git")
        self._made.cache.bury(self.home / "git")
        known = self._noted().files
        again = sorted(path for path in {*changes.files, *changes.gone} if path in known)
        if again:
            data = b"".join(path + b"\0" for path in again)
            self._made.base.write(self.outside, self.home / "index", data)
        self._put_ready()

    def close(self) -> None:
        """Nothing is held."""

    def _noted(self) -> Written:
        if self._written is None:
            self._written = read_index(self.home / "index", self._made.base.project.object_size)
        return self._written

    def _skip(self) -> frozenset[bytes]:
        return frozenset(os.fsencode(path) for path in self._made.given)


def _tops(changes: Changes) -> list[bytes]:
    """New paths and paths in the way, the uppermost only."""
    found: list[bytes] = []
    new = {*changes.files, *changes.folders, *(os.fsencode(refused.path) for refused in changes.refused)}
    for path in sorted(new, key=lambda path: path.split(b"/")):
        if not found or not path.startswith(found[-1] + b"/"):
            found.append(path)
    return found


def _copy(layer: Path, tree: Path) -> None:
    subprocess.run(["cp", "-a", "--reflink=auto", "--", f"{layer}/files/.", str(tree)], check=True, capture_output=True)
