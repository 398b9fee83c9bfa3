"""Shadow of a slot, by which git tells what is ignored and converted without looking at the slot.

git sees a shadow: a folder with copies of those `.gitignore` and `.gitattributes` files that matter, each read
safely. So neither a pipe that poses as one of them nor a link can hold or mislead it. Which content filter runs is
said by the rules of the user's tree and their own; all else by the slot's.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from bakeoff.system.temporary import scratch_folder
from bakeoff.workspace.files import read_small
from bakeoff.workspace.filters.attributes import (
    ATTRIBUTES,
    Filters,
    Rules,
    Stored,
    attributes_of,
    filter_names,
    is_rule,
    store,
)
from bakeoff.workspace.filters.drivers import Driver
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.results.changes import Changes
from bakeoff.workspace.slots.base import Base

_IGNORES = b".gitignore"
_ASKED = ("text", "crlf", "eol", "ident", "working-tree-encoding")


class Shadow:
    """The rules that hold for the changed paths of one slot."""

    def __init__(self, base: Base, changes: Changes, folder: Path) -> None:
        self._base = base
        self._changes = changes
        self._folder = folder
        self._excludes = folder / "excludes"
        self._excludes.write_bytes(base.excludes)
        self._rules = Rules(folder / "tree", [_IGNORES, ATTRIBUTES], self._rule, whole=True)

    @property
    def _git(self) -> Git:
        """The user's conversions, but no filter: the rules are the slot's."""
        return self._base.repository.git_for(
            self._base.project, self._rules.folder, self._folder / "index", filters=False
        )

    @cached_property
    def _filters(self) -> Filters:
        base, folder = self._base, self._folder / "filters"
        folder.mkdir()
        return Filters(base.project, base.repository, base.rules, folder)

    def ignored(self, paths: list[bytes]) -> set[bytes]:
        """Those of `paths` that are ignored, were they untracked; folders are given with a slash at their end."""
        if not paths:
            return set()
        tree = self._rules.folder
        self._rules.cover(path.rstrip(b"/") for path in paths)
        for path in paths:
            if path.endswith(b"/"):
                (tree / os.fsdecode(path)).mkdir(exist_ok=True)
        git = self._base.repository.git().at(work_tree=tree, index=self._folder / "index", cwd=tree)
        git = git.at(config=(*self._base.project.form, f"core.excludesFile={self._excludes}"))
        names = set(git.ignored((path.rstrip(b"/") for path in paths), "--no-index"))
        return {path for path in paths if path.rstrip(b"/") in names}

    def filtered(self, paths: Iterable[bytes]) -> dict[bytes, Driver]:
        """The content filters of `paths`, as the snapshot's attributes and the user's own name them."""
        if not self._base.project.filters:
            return {}
        return {path: driver for path, driver in self._filters.of(paths).items() if driver.cleans}

    def moved(self, paths: Iterable[bytes]) -> dict[bytes, tuple[str | None, str | None]]:
        """Files for which the slot's own attributes name another content filter of the user's, or none: before and now.

        Args:
            paths: files that are changed or new; those of the snapshot that are still there are looked at, too.
        """
        base, changes = self._base, self._changes
        known = {driver.name for driver in base.project.filters}
        if not known or not self.changed_rules():
            return {}
        files = base.entries.files.items()
        old = (path for path, (mode, _) in files if mode.startswith(b"100") and not is_gone(changes, path))
        asked = list(dict.fromkeys([*paths, *old]))
        self._rules.cover(asked)
        now, before = filter_names(self._git, asked), self._filters.named(asked)
        pairs = {path: (_one_of(known, before.get(path)), _one_of(known, now.get(path))) for path in asked}
        return {path: names for path, names in pairs.items() if names[0] != names[1]}

    def changed_rules(self) -> list[bytes]:
        """The `.gitattributes` that are new, changed or gone."""
        changed = [path for path in self._changes.files if is_rule(path)]
        return [*changed, *(path for path in self._base.rules if path not in changed and is_gone(self._changes, path))]

    def keep_attributes(self) -> None:
        """From here on, the snapshot's attributes hold in all that is asked."""

        def read(path: bytes) -> bytes | None:
            return self._base.rules.get(path) if is_rule(path) else self._rule(path)

        self._rules = Rules(self._folder / "kept", [_IGNORES, ATTRIBUTES], read, whole=True)

    def converted(self, paths: Iterable[bytes]) -> dict[bytes, bool]:
        """Those of `paths` whose content git may store otherwise, filters apart; true where it always does.

        The others it stores otherwise only if they hold what `TRIGGERS` finds.
        """
        asked = list(paths)
        self._rules.cover(asked)
        project = self._base.project
        auto = any(entry.startswith("core.autocrlf") for entry in project.form)
        if not (asked and (auto or project.attributes or ATTRIBUTES in self._rules.found)):
            return {}
        found: dict[bytes, bool] = {}
        for path, name, value in attributes_of(self._git, asked, _ASKED):
            always = name == b"working-tree-encoding" and value not in (b"unspecified", b"unset")
            found[path] = found.get(path, False) or always
        return found

    @cached_property
    def waiting(self) -> Path:
        """A folder for contents that are to be stored."""
        folder = self._folder / "waiting"
        folder.mkdir()
        return folder

    def stage(self, content: bytes) -> Path:
        """A new file with that content, to be stored."""
        file = self.waiting / secrets.token_hex(8)
        file.write_bytes(content)
        return file

    def store(self, files: dict[bytes, Path], drivers: dict[bytes, Driver]) -> Stored:
        """Store contents by their paths as `git add` would; the files are moved.

        Passes on GitError.
        """
        through = {path: file for path, file in files.items() if path in drivers}
        plain = [path for path in files if path not in through]
        self._rules.cover(plain)
        for path in plain:
            files[path].replace(self._rules.place(path))
        before = self._base.entries.files
        known = {path: before[path] for path in files if path in before and before[path][0].startswith(b"100")}
        found = store(self._git, plain, known)
        if through:
            more = self._filters.stored(through, {path: drivers[path] for path in through}, known)
            found.ids |= more.ids
            found.failed |= more.failed
        return found

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


def _one_of(known: set[str], name: str | None) -> str | None:
    return name if name in known else None


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
    with scratch_folder(".shadow.", base.repository.path) as folder:
        yield Shadow(base, changes, Path(folder))


TRIGGERS = re.compile(rb"\r\n|\$Id")
"""Bytes that a file must hold for a conversion to change it, encodings apart."""
