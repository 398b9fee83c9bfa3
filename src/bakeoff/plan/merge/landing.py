"""Moving the user's branch to what was merged: once, and only from where it was seen to stand. Blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.plan.merge.chain import Change, Merger
from bakeoff.plan.merge.trees import UNRELATED
from bakeoff.workspace.errors import ApplyError
from bakeoff.workspace.landing.applying import as_user
from bakeoff.workspace.landing.fast_forward import send
from bakeoff.workspace.landing.intent import intending
from bakeoff.workspace.landing.recovery import move_on, open_to_land
from bakeoff.workspace.landing.refs import check_at, lock_of, move_ref, real_name, stands_at
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import Repository, object_directories
from bakeoff.workspace.snapshot.project import Project
from bakeoff.workspace.snapshot.submodules import Submodules

_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
"""What git has in its folder while the user is in the middle of something."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Outcome of landing a merge.

    Attributes:
        branch: the branch that has it now; `HEAD` where none is checked out.
        commit: where it stands.
        before: where it stood; None for a new branch.
        merged: whether it had moved, so that the result was merged with what it has since, which no check has seen.
        files: whether the files of the checkout were written.
    """

    branch: str
    commit: str
    before: str | None
    merged: bool = False
    files: bool = False

    @property
    def said(self) -> str:
        """In words."""
        if self.before == self.commit:
            return f"{self.branch} has all of it already"
        later = "; it had moved, and what the two are together no check has seen" if self.merged else ""
        return f"{self.branch} stands at {self.commit[:12]} now{later}"

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {name: getattr(self, name) for name in ("branch", "commit", "before", "merged", "files")}


def move_branch(path: Path, run: str, tip: str, name: str) -> Moved:
    """Have the branch `name` stand at the commit `tip` of bakeoff's repository; it is made where it is not there.

    The checkout stays as it is. Passes on ApplyError: it cannot be moved, and nothing was changed.

    Raises:
        ApplyError: it is checked out, or no name for a branch.
    """
    project, repository = open_to_land(path, tip, branch=True)
    git, ref = project.git(), f"refs/heads/{name}"
    if git.both("check-ref-format", "--branch", name, statuses=range(256))[0]:
        raise ApplyError(f"{name!r} cannot be the name of a branch")
    for where, taken in _checked_out(git):
        if taken == ref:
            raise ApplyError(f"the branch {name} is checked out in {where}: say --apply there, or choose another name")
    ref = real_name(git, ref)
    before = stands_at(git, ref)
    commit, merged = _onto(project, repository, run, tip, before, name)
    if commit != before:
        check_at(git, ref, before)
        send(project, repository, commit)
        with intending(project, "ref", lock_of(project, ref), run=run, ref=ref, commit=commit) as intent:
            move_ref(project, intent, ref, commit, before, "bakeoff: merge")
    return Moved(name, commit, before, merged)


def move_checkout(path: Path, run: str, tip: str) -> Moved:
    """Have the branch that is checked out stand at `tip`, and the files with it; uncommitted changes stay.

    Passes on ApplyError: it cannot be moved, or uncommitted changes or untracked files are in the way.

    Raises:
        ApplyError: nothing is committed yet, or the user is in the middle of a merge or rebase.
    """
    project, repository = open_to_land(path, tip)
    git = project.git()
    if any((project.git_dir / name).exists() for name in _UNDER_WAY):
        raise ApplyError(f"a merge, rebase or the like is under way in {project.root}: finish or abort it first")
    ref = git.line("symbolic-ref", "-q", "HEAD", statuses=(0, 1, 128))
    name = ref.removeprefix("refs/heads/") or "HEAD"
    before = stands_at(git, "HEAD")
    if before is None:
        raise ApplyError(f"{project.root} has no commit yet that anything could be merged onto")
    commit, merged = _onto(project, repository, run, tip, before, name)
    if commit == before:
        return Moved(name, commit, before, merged)
    move_on(project, repository, real_name(git, "HEAD"), before, commit, run)
    return Moved(name, commit, before, merged, files=True)


def _checked_out(git: Git) -> Iterator[tuple[str, str]]:
    """The work trees of the repository, and their branches."""
    where = ""
    for line in git.run("worktree", "list", "--porcelain").decode("utf-8", "surrogateescape").splitlines():
        key, _, value = line.partition(" ")
        if key == "worktree":
            where = value
        elif key == "branch":
            yield where, value


def _onto(
    project: Project, repository: Repository, run: str, tip: str, before: str | None, name: str
) -> tuple[str, bool]:
    """The commit that has `tip` and all that the branch has, and whether it is a new one.

    Raises:
        ApplyError: the two conflict.
    """
    repository.link(project)
    git = as_user(project, repository.git().at(alternates=object_directories(project)))
    if before is None or _is_above(git, before, tip):
        return tip, False
    if _is_above(git, tip, before):
        return before, False
    merger = Merger(git, submodules=Submodules(project.root))
    point = merger.point(tip)
    step = merger.step(merger.point(before), Change(f"bakeoff run {run}", tip), point.date)
    if step.point is None:
        if any(clash.kind == UNRELATED for clash in step.left):
            what = f"{name} stands at {before[:12]} now and has no history in common with the merge"
            raise ApplyError(f"{what}; nothing was changed")
        paths = tuple(dict.fromkeys(clash.path for clash in step.left))
        raise ApplyError(
            f"{name} has moved to {before[:12]}, which conflicts with the merge in {', '.join(paths[:10])}; "
            "nothing was changed. Merge again, onto what it is now",
            paths,
        )
    return step.point.commit, True


def _is_above(git: Git, lower: str, upper: str) -> bool:
    return git.both("merge-base", "--is-ancestor", lower, upper, statuses=(0, 1))[0] == 0
