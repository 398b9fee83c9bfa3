"""Asks git which paths are ignored and which are converted, without letting it look at a slot.

git sees a shadow: a folder with copies of those `.gitignore` and `.gitattributes` files that matter, each read
safely. So neither a pipe that poses as one of them nor a link can hold or mislead it.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bakeoff.workspace.changes import Changes
from bakeoff.workspace.files import read_small
from bakeoff.workspace.git import Git
from bakeoff.workspace.trees import Base

_RULES = (b".gitignore", b".gitattributes")
_ASKED = ("text", "crlf", "eol", "ident", "working-tree-encoding")


class Shadow:
    """The rules that hold for the changed paths of one slot."""

    def __init__(self, base: Base, changes: Changes, folder: Path) -> None:
        self._base = base
        self._changes = changes
        self._folder = folder
        self._made: set[bytes] = set()
        self._attributes = any(entry.startswith("core.autocrlf") for entry in base.project.form)
        self._excludes = folder / "excludes"
        self._excludes.write_bytes(base.excludes)
        self._tree = folder / "tree"
        self._tree.mkdir()
        self._make(b"")

    def git(self) -> Git:
        """A git with the shadow as its work tree and an index that holds nothing."""
        git = self._base.git(self._tree, self._folder / "index")
        return git.at(config=(*git.config, f"core.excludesFile={self._excludes}"))

    def ignored(self, paths: list[bytes]) -> set[bytes]:
        """Those of `paths` that are ignored, were they untracked; folders are given with a slash at their end."""
        if not paths:
            return set()
        for path in paths:
            self._make(path.rstrip(b"/").rpartition(b"/")[0])
            if path.endswith(b"/"):
                (self._tree / os.fsdecode(path)).mkdir(exist_ok=True)
        names = set(self.git().ignored((path.rstrip(b"/") for path in paths), "--no-index"))
        return {path for path in paths if path.rstrip(b"/") in names}

    def converted(self, paths: Iterable[bytes]) -> dict[bytes, bool]:
        """Those of `paths` whose content git may store otherwise; true where it always does.

        The others it stores otherwise only if they hold what `TRIGGERS` finds.
        """
        asked = list(paths)
        for path in asked:
            self._make(path.rpartition(b"/")[0])
        if not self._attributes or not asked:
            return {}
        data = b"".join(path + b"\0" for path in asked)
        out = self.git().run("check-attr", "-z", "--stdin", *_ASKED, data=data).split(b"\0")
        found: dict[bytes, bool] = {}
        for path, name, _value in zip(out[::3], out[1::3], out[2::3], strict=False):
            always = name == b"working-tree-encoding" and _value not in (b"unspecified", b"unset")
            found[path] = found.get(path, False) or always
        return found

    def _make(self, folder: bytes) -> None:
        """The folder, and those that it lies in, with the rules that stand in them."""
        if folder in self._made:
            return
        if folder:
            self._make(folder.rpartition(b"/")[0])
            (self._tree / os.fsdecode(folder)).mkdir(exist_ok=True)
        self._made.add(folder)
        for name in _RULES:
            path = folder + b"/" + name if folder else name
            text = self._rule(path)
            if text is not None:
                (self._tree / os.fsdecode(path)).write_bytes(text)
                self._attributes = self._attributes or name == b".gitattributes"

    def _rule(self, path: bytes) -> bytes | None:
        changes = self._changes
        if path in changes.files:
            return read_small(changes.root, path)
        if path not in self._base.entries.files or is_gone(changes, path):
            return None
        if path in changes.hidden:
            mode, oid = self._base.entries.files[path]
            return self._base.repository.git().run("cat-file", "blob", oid) if mode.startswith(b"100") else None
        return read_small(changes.below, path)


def is_gone(changes: Changes, path: bytes) -> bool:
    """Whether what the snapshot had at `path` is hidden or deleted."""
    while path:
        if path in changes.gone:
            return True
        path = path.rpartition(b"/")[0]
    return False


@contextmanager
def shadow(base: Base, changes: Changes) -> Iterator[Shadow]:
    """A shadow that is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix=".shadow.", dir=base.repository.path) as folder:
        yield Shadow(base, changes, Path(folder))


TRIGGERS = re.compile(rb"\r\n|\$Id")
"""What a file must hold for a conversion to change it, encodings apart."""
