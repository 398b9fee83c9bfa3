"""Result of an attempt, as it is kept: all that it made, and the tree that is judged, where tests are as before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bakeoff.judge.checks.protected import Protection
from bakeoff.report.escape import path_text
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.repository.repository import ref_name
from bakeoff.workspace.results.restored_paths import restored
from bakeoff.workspace.results.results import Changed, changed_between
from bakeoff.workspace.slots.base import Base


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """One result with its judged form.

    Attributes:
        ref, commit: the whole result.
        judged: the commit that is judged, and what is landed; `commit` itself where no protected path was touched.
        touched: protected paths that the result changes and `judged` does not.
        named: changed paths that a check names.
    """

    ref: str
    commit: str
    judged: str
    tree: str
    changed: tuple[Changed, ...]
    touched: tuple[str, ...]
    named: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """For the record; JSON types only."""
        added = sum(path.added or 0 for path in self.changed)
        deleted = sum(path.deleted or 0 for path in self.changed)
        found: dict[str, Any] = {"ref": self.ref, "commit": self.commit, "judged": self.judged, "tree": self.tree}
        found["diff"] = {"files": len(self.changed), "added": added, "deleted": deleted}
        if self.touched:
            found["tests_changed"] = _shown(self.touched)
        if self.named:
            found["judges_changed"] = _shown(self.named)
        return found


def _shown(paths: tuple[str, ...]) -> list[str]:
    return [path_text(path) for path in paths]


async def keep(base: Base, run: str, name: str, ref: str, commit: str, protection: Protection) -> JudgedResult:
    """The judged form of the result `name`, which stands at `ref`; kept beside it as `NAME-judged` where it differs.

    Passes on GitError: bakeoff's repository cannot be written.
    """
    return await in_thread(_keep, base, run, name, ref, commit, protection)


def _keep(base: Base, run: str, name: str, ref: str, commit: str, protection: Protection) -> JudgedResult:
    repository, snapshot = base.repository, base.snapshot.commit
    protection = protection.within(base.entries.files)
    changed = changed_between(repository, snapshot, commit)
    git = repository.git()

    def content(where: str, path: str) -> bytes:
        return git.both("cat-file", "blob", f"{where}:{path}".encode("utf-8", "surrogateescape"), statuses=(0, 128))[1]

    paths = [change.path for change in changed]
    touched = protection.touched(paths, lambda path: content(snapshot, path), lambda path: content(commit, path))
    named = tuple(protection.named(path for path in paths if path not in touched))
    if not touched:
        return JudgedResult(ref, commit, commit, repository.tree_of(commit), changed, (), named)
    made = restored(repository, snapshot, commit, touched, ref_name(run, f"{name}-judged"))
    changed = changed_between(repository, snapshot, made.commit)
    return JudgedResult(ref, commit, made.commit, made.tree, changed, tuple(touched), named)
