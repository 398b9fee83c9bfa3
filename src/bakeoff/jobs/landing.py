"""Landing of what a run made: its diff, its changes in the user's files, or a branch. Its functions block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.report.escape import path_text
from bakeoff.workspace.errors import GitError
from bakeoff.workspace.landing.applying import apply, branch, branched, open_project
from bakeoff.workspace.landing.diff import diff, diff_text
from bakeoff.workspace.landing.recovery import open_to_land
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.results.results import Changed, changed_between


@dataclass(frozen=True, slots=True)
class Landed:
    """Landing of a result: what was done with it.

    Attributes:
        attempt: its id; None for a step's result that is no attempt's.
        step: the workflow's step that made it.
        commit: the commit of bakeoff's repository that was landed.
        changed: the files that were written or deleted.
        branch: the branch, and `made` its commit in the user's repository.
        before: the ref of bakeoff's repository that keeps the files as they were.
        merged: whether the files had changed since the run's snapshot.
        submodules: the commit that each submodule is to stand at, which is left to the user; None for one that goes.
        noun: what an attempt is called, for people.
    """

    attempt: int | None
    commit: str
    changed: tuple[Changed, ...] = ()
    branch: str | None = None
    made: str | None = None
    before: str | None = None
    merged: bool = False
    step: str | None = None
    noun: str = "attempt"
    submodules: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """Its name, for people."""
        kind = "subplan" if self.noun == "subplan" else "step"
        whose = "" if self.step is None else f" of {kind} {self.step}"
        return f"the result{whose}" if self.attempt is None else f"{self.noun} {self.attempt}{whose}"

    @property
    def said(self) -> str:
        """In words."""
        if self.branch is not None:
            return f"{self.what} is on the branch {self.branch} ({str(self.made)[:12]})"
        if not self.changed:
            return f"{self.what}: your files have all of it already{self._left}"
        files = f"{len(self.changed)} file{'' if len(self.changed) == 1 else 's'}"
        merged = ", merged with what you changed since" if self.merged else ""
        return f"{self.what} applied: {files} written{merged}; as it was is kept as {self.before}{self._left}"

    @property
    def _left(self) -> str:
        """Submodules that are left to the user, in words."""
        wanted = [
            f"{path_text(path)} is to stand at {oid[:12]}" if oid else f"{path_text(path)} is to go"
            for path, oid in self.submodules.items()
        ]
        return f"; submodules are left to you: {', '.join(wanted)}" if wanted else ""

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        names = ("attempt", "step", "commit", "branch", "made", "before", "merged")
        return {name: getattr(self, name) for name in names} | {
            "changed": [change.path for change in self.changed],
            "submodules": dict(self.submodules),
        }


@dataclass(frozen=True, slots=True)
class Work:
    """Something that was made and can be shown and landed.

    Attributes:
        facts: names its commits; `base` where the first parent is not what it was made from.
        title: a line for a commit message.
        attempt: its number; None for a step's result that is no attempt's.
        step: the workflow's step that made it.
        noun: what an attempt is called, for people.
    """

    run: str
    status: str
    facts: Mapping[str, Any]
    title: str
    attempt: int | None = None
    step: str | None = None
    noun: str = "attempt"


def kept_commit(facts: Mapping[str, Any], with_tests: bool) -> str:
    """The commit that is shown and landed."""
    return str(facts["commit" if with_tests else "judged"])


def title_of(task: str) -> str:
    """A task as one line."""
    return task.strip().splitlines()[0][:72]


def diff_of(project: Path, work: Work, with_tests: bool) -> bytes:
    """Its diff, as `git apply` takes it. Passes on BakeoffError: the work is not there any more."""
    repository, *ends = _ends(project, work, with_tests)
    return diff(repository, *ends)


def shown(project: Path, work: Work, with_tests: bool) -> tuple[list[str], str]:
    """Its changed paths as lines, and its diff for people. Passes on BakeoffError: the work is not there any more."""
    repository, *ends = _ends(project, work, with_tests)
    return _stat(changed_between(repository, *ends)), diff_text(repository, *ends)


def shown_diff(project: Path, work: Work, with_tests: bool) -> str:
    """Its diff for people, see `diff_text`. Passes on BakeoffError: the work is not there any more."""
    repository, *ends = _ends(project, work, with_tests)
    return diff_text(repository, *ends)


def changed_by(project: Path, work: Work, with_tests: bool) -> tuple[Changed, ...]:
    """The paths that it changes. Passes on BakeoffError: the work is not there any more."""
    repository, *ends = _ends(project, work, with_tests)
    return changed_between(repository, *ends)


def _ends(project: Path, work: Work, with_tests: bool) -> tuple[Repository, str, str]:
    """Where it is kept, what it was made from, and what it is."""
    _, repository = open_project(project)
    commit = kept_commit(work.facts, with_tests)
    _check_kept(repository, work, commit)
    return repository, str(work.facts.get("base") or f"{commit}^1"), commit


def _check_kept(repository: Repository, work: Work, commit: str) -> None:
    try:
        repository.tree_of(commit)
    except GitError:
        what = Landed(work.attempt, commit, step=work.step, noun=work.noun).what
        raise BakeoffError(f"{what} of run {work.run} is not in {repository.path} any more") from None


def stat_of(project: Path, work: Work, with_tests: bool) -> list[str]:
    """The same as lines for a person."""
    return _stat(changed_by(project, work, with_tests))


def _stat(changed: Iterable[Changed]) -> list[str]:
    lines = []
    for change in changed:
        size = "binary" if change.added is None else f"+{change.added} -{change.deleted}"
        lines.append(f"{change.status} {path_text(change.path)}  {size}")
    return lines


def land(project: Path, work: Work, name: str | None = None, with_tests: bool = False) -> Landed:
    """Write what was made into the user's files, or make the branch `name` of it; a branch that is of it is left.

    Whoever was killed meanwhile can do the same again.

    Passes on ApplyError: it does not fit, and nothing was changed. BakeoffError: the work is not there any more.
    """
    commit = kept_commit(work.facts, with_tests)
    theirs, repository = open_to_land(project, commit, branch=name is not None)
    landed = Landed(work.attempt, commit, step=work.step, noun=work.noun)
    _check_kept(repository, work, commit)
    if name is not None:
        message = message_of(work, landed)
        made = branched(theirs, repository, commit, name, message)
        made = made or branch(theirs, repository, commit, name, message, work.run)
        return replace(landed, branch=name, made=made)
    done = apply(theirs, repository, commit, work.run)
    return replace(landed, changed=done.changed, before=done.before, merged=done.merged, submodules=done.submodules)


def message_of(work: Work, landed: Landed) -> str:
    """The message of the commit that a branch is made of; by it a branch is known to be this work's."""
    return f"{work.title}\n\nbakeoff run {work.run}, {landed.what}"


def write_patch(path: Path, diff: bytes) -> None:
    """Write a diff to a file that a person named.

    Raises:
        BakeoffError: it cannot be written.
    """
    try:
        path.write_bytes(diff)
    except OSError as failure:
        raise BakeoffError(f"--patch {path}: it cannot be written: {failure.strerror}") from failure


SHORT = 60
"""Lines of a diff, and of the list of its files, that are printed unasked."""


def diff_lines(run: str, diff: str, *, whole: bool = False) -> Iterator[str]:
    """A diff at the end of a session, or how to see it where it is long."""
    yield diff.rstrip("\n") if whole or diff.count("\n") <= SHORT else f"  see it with: bakeoff diff {run}"
