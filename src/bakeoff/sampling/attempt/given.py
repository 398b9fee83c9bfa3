"""Existing work taken as attempts: commits by any name that git knows, and patches in files."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.judge.checks.protected import Protection
from bakeoff.sampling.action import Generation, Ticket
from bakeoff.sampling.attempt.checkpoint import AttemptFailure
from bakeoff.sampling.attempt.judged_result import keep
from bakeoff.system.named_files import read_named
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import ApplyError, GitError, WorkspaceError
from bakeoff.workspace.landing.merging import commit_tree, merge_trees
from bakeoff.workspace.repository.repository import Repository, ref_name
from bakeoff.workspace.snapshot.project import Project, find_project
from bakeoff.workspace.snapshot.snapshot import take_snapshot
from bakeoff.workspace.snapshot.submodules import Submodules
from bakeoff.workspace.workspace import Workspace


def commit_of(project: Project, ref: str) -> str | None:
    """The commit that a name stands for; None where it is none."""
    asked = ("rev-parse", "-q", "--verify", "--end-of-options", f"{ref}^{{commit}}")
    return project.git().line(*asked, statuses=(0, 1, 128)) or None


def all_commits(path: Path, refs: tuple[str, ...]) -> bool:
    """Whether there are refs, and all of them are commits of the user's repository. Blocks."""
    project = find_project(path) if refs else None
    return project is not None and all(commit_of(project, ref) is not None for ref in refs)


def check_base(path: Path, ref: str) -> None:
    """See that it is a commit.

    Raises:
        BakeoffError: it is none.
    """
    project = find_project(path)
    if commit_of(project, ref) is None:
        raise BakeoffError(f"--base: {ref!r} is no commit of {project.root}")


def check_refs(path: Path, refs: tuple[str, ...]) -> None:
    """See that each is a commit or a file.

    Raises:
        BakeoffError: one is neither.
    """
    project = find_project(path)
    for ref in refs:
        if commit_of(project, ref) is not None:
            continue
        try:
            read_named(Path(ref))
        except (OSError, ValueError) as failure:
            why = getattr(failure, "strerror", failure)
            what = f"{ref!r} is neither a commit of {project.root} nor a patch file ({why})"
            raise BakeoffError(f"{what}; nothing was judged") from None


@dataclass(slots=True)
class GivenMaker:
    """Takes the commit or patch of an attempt's number, as it would be on top of the snapshot.

    Attributes:
        refs: what to take; the first is attempt 1.
    """

    refs: tuple[str, ...]
    workspace: Workspace
    protection: Protection
    run: str

    async def make(self, attempt: Ticket) -> Generation:
        """Take it.

        Raises:
            AttemptFailure: it does not fit the snapshot, or changes nothing.
        """
        ref, name = self.refs[attempt.id - 1], f"attempt-{attempt.id}"
        facts: dict[str, Any] = {"given": ref}
        try:
            commit = await in_thread(take, self.workspace, ref, ref_name(self.run, name), f"{ref}, for run {self.run}")
            kept = await keep(self.workspace.base, self.run, name, ref_name(self.run, name), commit, self.protection)
        except ApplyError as failure:
            raise AttemptFailure(str(failure), "conflict", facts=facts) from failure
        except WorkspaceError as failure:
            raise AttemptFailure(str(failure), "workspace", facts=facts) from failure
        if not kept.changed:
            raise AttemptFailure(f"{ref} changes nothing that counts", "empty", facts=facts | kept.facts())
        return Generation({"tree": kept.tree}, facts=facts | kept.facts())


def take(workspace: Workspace, ref: str, name: str, message: str) -> str:
    """A commit or patch as a commit on top of the snapshot, kept under the ref `name`. Blocks.

    Passes on ApplyError: it does not fit the snapshot.
    """
    project, repository = workspace.base.project, workspace.repository
    commit = commit_of(project, ref)
    tree = _patched(workspace, Path(ref)) if commit is None else _merged(workspace, project, repository, commit, ref)
    made = commit_tree(repository.git(), tree, [workspace.snapshot.commit], message)
    repository.set_ref(name, made)
    return made


def _merged(workspace: Workspace, project: Project, repository: Repository, commit: str, ref: str) -> str:
    """The tree of a commit as it would be on top of the snapshot.

    Raises:
        ApplyError: they conflict, or have no history in common.
    """
    snapshot = workspace.snapshot
    tree = take_snapshot(project, repository, base=commit).tree
    fork = project.git().line("merge-base", snapshot.head or snapshot.commit, commit, statuses=(0, 1, 128))
    if not fork:
        raise ApplyError(
            f"{ref} has no history in common with what it is compared on, as far as it is here; after a shallow clone "
            "`git fetch --unshallow` brings the rest"
        )
    before = take_snapshot(project, repository, base=fork).tree
    what = f"{ref} does not fit what it is compared on"
    return merge_trees(repository, before, snapshot.tree, tree, what, Submodules(project.root))


def _patched(workspace: Workspace, file: Path) -> str:
    repository = workspace.repository
    index = repository.path / f"patch.{secrets.token_hex(6)}.index"
    git = repository.git().at(index=index)
    try:
        git.run("read-tree", workspace.snapshot.commit)
        try:
            git.run("apply", "--cached", "--whitespace=nowarn", "-", data=read_named(file))
        except (GitError, OSError) as failure:
            raise ApplyError(f"the patch {file} does not fit what it is compared on: {failure}") from failure
        return git.line("write-tree")
    finally:
        index.unlink(missing_ok=True)
