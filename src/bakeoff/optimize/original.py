"""The files of the snapshot that candidates are compared with."""

from __future__ import annotations

import os
from collections.abc import Iterable

from bakeoff.workspace.filters.filters import checkout_contents
from bakeoff.workspace.workspace import Workspace


class Original:
    """Files of the snapshot. Its functions block."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._known: dict[str, bytes | None] = {}

    def content(self, path: str) -> bytes | None:
        """Of a file; None where there is none."""
        if path not in self._known:
            git, commit = self.workspace.repository.git(), self.workspace.snapshot.commit
            name = os.fsencode(path)
            filtered = checkout_contents(self.workspace.base, commit, [name])
            status, out, _ = git.both("cat-file", "blob", commit.encode() + b":" + name, statuses=(0, 128))
            self._known[path] = filtered.get(name, out) if status == 0 else None
        return self._known[path]

    def mentioning(self, word: str) -> list[str]:
        """Paths of Python files in which a word occurs."""
        git, commit = self.workspace.repository.git(), self.workspace.snapshot.commit
        argv = ("grep", "-l", "-z", "-w", "-F", "-e", word, commit, "--", "*.py")
        _, out, _ = git.both(*argv, statuses=(0, 1))
        names = [os.fsdecode(each) for each in out.split(b"\0") if each]
        return [name.removeprefix(f"{commit}:") for name in names]

    def files(self, paths: Iterable[str]) -> dict[str, bytes | None]:
        """Of several files."""
        return {path: self.content(path) for path in paths}
