"""Crash recovery of an apply: whoever is next to change the user's repository finishes what a kill interrupted."""

from __future__ import annotations

from pathlib import Path

from bakeoff.workspace.errors import ApplyError, GitError, ProjectError, WorkspaceError
from bakeoff.workspace.landing.applying import apply, open_project
from bakeoff.workspace.landing.fast_forward import move_head
from bakeoff.workspace.landing.intent import Intent, drop, interrupted, said_of
from bakeoff.workspace.landing.refs import stands_at
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.snapshot.project import Project, find_project


def open_to_land(path: Path, commit: str, *, branch: bool = False) -> tuple[Project, Repository]:
    """The user's project at `path` and bakeoff's repository of it, with nothing half done in it. Blocks.

    What was interrupted is finished, unless it was landing the same `commit` in files, and no `branch` is to be made of
    it now: that goes on by itself. Passes on ApplyError: it cannot be finished.
    """
    project, repository = open_project(path)
    found = interrupted(project)
    if found is not None and (branch or found.facts.get("commit") != commit or not _is_to_do(project, found)):
        _finish(project, repository, found)
    return project, repository


def move_on(project: Project, repository: Repository, ref: str, before: str, commit: str, run: str) -> None:
    """As `move_head`, which goes on by itself with what was cut off before.

    Where the user's work has got in the way of that, git's locks are taken away, so that they can put it aside.

    Raises:
        ApplyError: something is in the way; without an interruption nothing was changed.
    """
    try:
        move_head(project, repository, ref, before, commit, run)
    except ApplyError as failure:
        half = interrupted(project)
        if half is None or half.kind != "checkout" or half.root != project.root:
            raise
        half.unlock()
        why = str(failure).partition("; nothing was changed")[0]
        raise ApplyError(
            f"{said_of(half)}, and it cannot go on: {why}. Some files may be as it has them, the branch is as it was, "
            "and its locks are taken away: commit what is yours, or put it aside with `git stash -u`, and say "
            f"`bakeoff apply {run or 'RUN'}` again",
            failure.conflicts,
        ) from failure


def half_applied(path: Path) -> str | None:
    """The run whose result was being applied to the project at `path` when that was cut off; None where none was."""
    try:
        found = interrupted(find_project(path))
    except WorkspaceError:  # no git work tree
        return None
    return None if found is None else found.facts.get("run") or None


def _is_to_do(project: Project, found: Intent) -> bool:
    """Whether more is left of it than its locks."""
    if found.kind == "checkout":
        return found.root == project.root and stands_at(project.git(), found.facts["ref"]) == found.facts["before"]
    return found.kind == "files"


def _finish(project: Project, repository: Repository, found: Intent) -> None:
    """Do what is left of it, or leave it at that where the user has gone on meanwhile.

    Raises:
        ApplyError: they changed the same places since.
    """
    try:
        there = project if found.root == project.root else find_project(found.root)
        facts = found.facts
        if found.kind == "files":
            apply(there, repository, facts["commit"], facts["run"])
        elif found.kind == "checkout" and stands_at(there.git(), facts["ref"]) == facts["before"]:
            move_head(there, repository, facts["ref"], facts["before"], facts["commit"], facts["run"])
    except ProjectError:  # its work tree is not there any more
        pass
    except (ApplyError, GitError) as failure:
        raise ApplyError(
            f"{said_of(found)}, and it cannot be finished: {failure}. Some files may be as it has them, the others are "
            "as they were; what you asked for now was not begun: put your changes aside and say it again",
            getattr(failure, "conflicts", ()),
        ) from failure
    finally:
        drop(project, found)
