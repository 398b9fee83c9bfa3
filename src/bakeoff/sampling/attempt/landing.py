"""Taking an attempt over: its diff, its changes in the user's files, or a branch. Its functions block."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.engine.errors import BakeoffError
from bakeoff.sampling.attempt.kept import kept_commit
from bakeoff.sampling.attempt.standing import AttemptView, Standing
from bakeoff.workspace.applying import apply, branch, diff, open_project
from bakeoff.workspace.errors import GitError
from bakeoff.workspace.results import Changed, changed_between


@dataclass(frozen=True, slots=True)
class Landed:
    """What was done with an attempt.

    Attributes:
        attempt: its id.
        commit: the commit of bakeoff's repository that was landed.
        changed: the files that were written or deleted.
        branch: the branch, and `made` its commit in the user's repository.
        before: the ref of bakeoff's repository that keeps the files as they were.
        merged: whether the files had changed since the run's snapshot.
    """

    attempt: int
    commit: str
    changed: tuple[Changed, ...] = ()
    branch: str | None = None
    made: str | None = None
    before: str | None = None
    merged: bool = False

    @property
    def said(self) -> str:
        """In words."""
        if self.branch is not None:
            return f"attempt {self.attempt} is on the branch {self.branch} ({str(self.made)[:12]})"
        if not self.changed:
            return f"attempt {self.attempt}: your files have all of it already"
        files = f"{len(self.changed)} file{'' if len(self.changed) == 1 else 's'}"
        merged = ", merged with what you changed since" if self.merged else ""
        return f"attempt {self.attempt} applied: {files} written{merged}; as it was is kept as {self.before}"

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        names = ("attempt", "commit", "branch", "made", "before", "merged")
        return {name: getattr(self, name) for name in names} | {"changed": [change.path for change in self.changed]}


def chosen(found: Standing, run: str, number: int | None) -> AttemptView:
    """The attempt of that id, or the winner.

    Raises:
        BakeoffError: there is none, or it made nothing.
    """
    if number is None and found.winner is None:
        hint = f"; name one, for example {found.closest}" if found.closest is not None else ""
        raise BakeoffError(f"run {run} has no winner{hint}")
    view = found.attempts.get(found.winner if number is None else number)  # type: ignore[arg-type]
    if view is None:
        known = ", ".join(map(str, found.attempts)) or "none"
        raise BakeoffError(f"run {run} has no attempt {number}; there are: {known}")
    if "judged" not in view.facts:
        raise BakeoffError(f"attempt {view.id} of run {run} made nothing: {view.error or 'it did not end'}")
    return view


def diff_of(project: Path, found: Standing, view: AttemptView, with_tests: bool) -> bytes:
    """Its diff, as `git apply` takes it."""
    _, repository = open_project(project)
    commit = kept_commit(view.facts, with_tests)
    return diff(repository, f"{commit}^1", commit)


def changed_by(project: Path, found: Standing, view: AttemptView, with_tests: bool) -> tuple[Changed, ...]:
    """The paths that it changes."""
    _, repository = open_project(project)
    commit = kept_commit(view.facts, with_tests)
    return changed_between(repository, f"{commit}^1", commit)


def stat_of(project: Path, found: Standing, view: AttemptView, with_tests: bool) -> list[str]:
    """The same as lines for a person."""
    lines = []
    for change in changed_by(project, found, view, with_tests):
        size = "binary" if change.added is None else f"+{change.added} -{change.deleted}"
        lines.append(f"{change.status} {change.path}  {size}")
    return lines


def land(
    project: Path, run: str, found: Standing, view: AttemptView, name: str | None = None, with_tests: bool = False
) -> Landed:
    """Write an attempt's changes into the user's files, or make the branch `name` of them.

    Passes on ApplyError: they do not fit, and nothing was changed.

    Raises:
        BakeoffError: the work is not there any more.
    """
    theirs, repository = open_project(project)
    commit = kept_commit(view.facts, with_tests)
    try:
        repository.tree_of(commit)
    except GitError:
        raise BakeoffError(f"attempt {view.id} of run {run} is not in {repository.path} any more") from None
    if name is not None:
        task = found.options.task.strip().splitlines()[0][:72]
        made = branch(theirs, repository, commit, name, f"{task}\n\nbakeoff run {run}, attempt {view.id}")
        return Landed(view.id, commit, branch=name, made=made)
    done = apply(theirs, repository, commit)
    return Landed(view.id, commit, done.changed, before=done.before, merged=done.merged)
