"""Commits of any content in a bare repository, made without a work tree; and what git itself makes of a merge."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.plan.merge.chain import Change, Merger, Point, Step
from bakeoff.workspace.repository.git import Git

Content = str | bytes | tuple[str, str | bytes] | None
"""Text; text with a mode; None for a path that is not there."""


@dataclass
class Forge:
    """A bare repository."""

    path: Path
    dates: list[int] = field(default_factory=lambda: [1_000_000])

    @classmethod
    def at(cls, path: Path, name: str = "forge.git") -> Forge:
        subprocess.run(["git", "init", "-q", "--bare", str(path / name)], check=True)
        return cls(path / name)

    @property
    def git(self) -> Git:
        who = {f"GIT_{role}_{part}": "b" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        return Git(directory=self.path, env=who, cwd=self.path)

    def commit(self, files: Mapping[str, Content], *parents: str) -> str:
        """`files` on top of the first parent."""
        self.dates[0] += 60
        stream = (
            b"feature done\nfeature get-mark\ncommit refs/heads/x%d\nmark :1\ncommitter b <b@b> %d +0000\ndata 1\nc\n"
        )
        out = [stream % (self.dates[0], self.dates[0])]
        for word, parent in zip(("from", *["merge"] * len(parents)), parents, strict=False):
            out.append(f"{word} {parent}\n".encode())
        for path, content in files.items():
            name = b'"' + path.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
            if content is None:
                out.append(b"D " + name + b"\n")
                continue
            mode, text = content if isinstance(content, tuple) else ("100644", content)
            if mode == "160000":
                out.append(f"M 160000 {text} ".encode() + name + b"\n")
                continue
            data = text.encode() if isinstance(text, str) else text
            out.append(b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), name, len(data), data))
        out.append(b"get-mark :1\ndone\n")
        return (
            self.git.run("fast-import", "--quiet", "--force", "--date-format=raw", data=b"".join(out)).decode().strip()
        )

    def files(self, commit: str) -> dict[str, tuple[str, bytes]]:
        """Modes and contents; of a submodule the id of its commit."""
        found = {}
        for entry in self.git.run("ls-tree", "-r", "-z", commit).split(b"\0")[:-1]:
            facts, _, path = entry.partition(b"\t")
            mode, kind, oid = facts.decode().split(" ")
            content = oid.encode() if kind == "commit" else self.git.run("cat-file", "blob", oid)
            found[os.fsdecode(path)] = (mode, content)
        return found

    def text(self, commit: str, path: str) -> str:
        return self.files(commit)[path][1].decode()

    def chain(self, merger: Merger, base: str, *commits: str) -> tuple[Point, list[Step]]:
        """All that fit one on top of the other."""
        at, steps = merger.point(base), []
        for number, commit in enumerate(commits):
            steps.append(merger.step(at, Change(f"r{number + 1}", commit), merger.point(commit).date))
            at = steps[-1].point or at
        return at, steps
