"""Moving the user's branch to what was merged: once, and only from where it was seen to stand. Blocks."""

from __future__ import annotations

import re
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.plan.merge.chain import Change, Merger
from bakeoff.workspace.applying import as_user, open_project
from bakeoff.workspace.errors import ApplyError, GitError
from bakeoff.workspace.git import Git, copy_index
from bakeoff.workspace.project import Project
from bakeoff.workspace.repository import Repository, object_directories

_IN_THE_WAY = re.compile(r"Entry '(.+)' |(?:file|directory) '(.+)' would be|^\t(.+)$", re.MULTILINE)


_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
"""What git has in its folder while the user is in the middle of something."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What was done with a merge.

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
    project, repository = open_project(path)
    git, ref = project.git(), f"refs/heads/{name}"
    if git.both("check-ref-format", "--branch", name, statuses=range(256))[0]:
        raise ApplyError(f"{name!r} cannot be the name of a branch")
    for where, taken in _checked_out(git):
        if taken == ref:
            raise ApplyError(f"the branch {name} is checked out in {where}: say --apply there, or choose another name")
    before = _stands_at(git, ref)
    commit, merged = _onto(project, repository, run, tip, before, name)
    if commit != before:
        _send(project, repository, commit)
        with _moving(git, ref, commit, before):
            pass
    return Moved(name, commit, before, merged)


def move_checkout(path: Path, run: str, tip: str) -> Moved:
    """Have the branch that is checked out stand at `tip`, and the files with it; uncommitted changes stay.

    Passes on ApplyError: it cannot be moved, or uncommitted changes or untracked files are in the way.

    Raises:
        ApplyError: nothing is committed yet, or the user is in the middle of a merge or rebase.
    """
    project, repository = open_project(path)
    git = project.git()
    if any((project.git_dir / name).exists() for name in _UNDER_WAY):
        raise ApplyError(f"a merge, rebase or the like is under way in {project.root}: finish or abort it first")
    ref = git.line("symbolic-ref", "-q", "HEAD", statuses=(0, 1, 128))
    name = ref.removeprefix("refs/heads/") or "HEAD"
    before = _stands_at(git, "HEAD")
    if before is None:
        raise ApplyError(f"{project.root} has no commit yet that anything could be merged onto")
    commit, merged = _onto(project, repository, run, tip, before, name)
    if commit == before:
        return Moved(name, commit, before, merged)
    _check_way(project, repository, before, commit)
    _send(project, repository, commit)
    git.both("update-index", "-q", "--refresh", statuses=range(256))
    # The branch is locked where it stands; then files and index are written; then it moves. Killed in between, the
    # files are as after it and the branch is not: the same command goes on from there.
    with _moving(git, ref or "HEAD", commit, before):
        git.run("read-tree", "-m", "-u", before, commit)
    return Moved(name, commit, before, merged, files=True)


def _check_way(project: Project, repository: Repository, before: str, commit: str) -> None:
    """Nothing uncommitted may stand where files are to be written.

    Raises:
        ApplyError: something does.
    """
    index = repository.path / f"way.{secrets.token_hex(6)}.index"
    git = project.git().at(index=index, alternates=[repository.objects])
    try:
        copy_index(project.git_dir / "index", index)
        git.both("update-index", "-q", "--refresh", statuses=range(256))
        git.run("read-tree", "-m", "-u", "-n", before, commit)
    except GitError as failure:
        found = [next(filter(None, names)) for names in _IN_THE_WAY.findall(str(failure))]
        what = f"uncommitted or untracked work is in the way in {', '.join(found[:10])}" if found else str(failure)
        raise ApplyError(
            f"the merge was not applied to {project.root}: {what}; nothing was changed. Commit it or put it aside, or "
            "say --branch NAME",
            tuple(found),
        ) from failure
    finally:
        index.unlink(missing_ok=True)


def _stands_at(git: Git, ref: str) -> str | None:
    return git.line("rev-parse", "-q", "--verify", f"{ref}^{{commit}}", statuses=(0, 1, 128)) or None


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
    merger = Merger(git)
    point = merger.point(tip)
    step = merger.step(merger.point(before), Change(f"bakeoff run {run}", tip), point.date)
    if step.point is None:
        paths = tuple(dict.fromkeys(clash.path for clash in step.left))
        raise ApplyError(
            f"{name} has moved to {before[:12]}, which conflicts with the merge in {', '.join(paths[:10])}; "
            "nothing was changed. Merge again, onto what it is now",
            paths,
        )
    return step.point.commit, True


def _is_above(git: Git, lower: str, upper: str) -> bool:
    return git.both("merge-base", "--is-ancestor", lower, upper, statuses=(0, 1))[0] == 0


def _send(project: Project, repository: Repository, commit: str) -> None:
    """Put what leads to the commit into the user's repository, as far as none of their branches has it."""
    git = repository.git().at(alternates=object_directories(project))
    known = project.git().run("for-each-ref", "--format=%(objectname)", "refs/heads", "refs/remotes").decode()
    head = _stands_at(project.git(), "HEAD")
    have = known + (f"{head}\n" if head else "")
    data = f"{commit}\n--not\n{have}".encode()
    pack = git.run("pack-objects", "--quiet", "--revs", "--stdout", "--thin", data=data)
    project.git().run("index-pack", "--stdin", "--fix-thin", data=pack)


@contextmanager
def _moving(git: Git, ref: str, new: str, old: str | None) -> Iterator[None]:
    """While inside, the ref is locked at `old`; it moves to `new` when the block is left, but for an exception.

    Raises:
        ApplyError: it stands elsewhere, or somebody else has locked it.
    """
    process = subprocess.Popen(
        git.argv("update-ref", "-m", "bakeoff: merge", "--stdin"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=git.environment(),
        cwd=git.cwd,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(f"start\nupdate {ref} {new} {old or '0' * len(new)}\nprepare\n")
        process.stdin.flush()
        ready = [process.stdout.readline() for _ in range(2)]
        if "prepare: ok\n" in ready:
            try:
                yield
            except BaseException:
                process.communicate()  # without a `commit` it lets go of the lock, and nothing moves
                raise
            process.stdin.write("commit\n")
        _, said = process.communicate()
    if process.returncode:
        raise ApplyError(f"{ref} was not moved, because it changed meanwhile: {said.strip()}; nothing was changed")
