"""Fast-forward of what is checked out to another commit, as `git read-tree -m -u` does; a kill loses nothing.

Each file, the index and the branch are replaced at once, in this order; all of it is on disk before the next. Cut off,
the same call goes on from there. Blocks.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bakeoff.report.escape import path_text
from bakeoff.workspace.errors import ApplyError, GitError
from bakeoff.workspace.filters.attributes import rules_of
from bakeoff.workspace.landing.intent import Intent, intending, sync_folder
from bakeoff.workspace.landing.refs import check_at, lock_of, move_ref, stands_at
from bakeoff.workspace.landing.writing import write_changes
from bakeoff.workspace.repository.git import Git, copy_index
from bakeoff.workspace.repository.repository import Repository, object_directories
from bakeoff.workspace.results.results import Changed, compared
from bakeoff.workspace.snapshot.project import Project
from bakeoff.workspace.snapshot.skip_worktree import kept_back, marked_files
from bakeoff.workspace.snapshot.snapshot import read_entries

_IN_THE_WAY = re.compile(r"Entry '(.+)' |(?:file|directory) '(.+)' would be|^\t(.+)$", re.MULTILINE)

_STAGE = ("update-index", "--add", "--remove", "-z", "--stdin")

_LEFT_OUT = re.compile(rb"(?<=\0)S ([^\0]+)")


def move_head(project: Project, repository: Repository, ref: str, before: str, commit: str, run: str) -> None:
    """Have `ref`, which is checked out and stands at `before`, stand at `commit`, and index and files with it.

    Uncommitted changes elsewhere stay. Passes on ApplyError: something is in the way, or the ref stands elsewhere;
    nothing was changed.
    """
    _check_way(project, repository, before, commit)
    send(project, repository, commit)
    locks = [project.git_dir / "index.lock", *lock_of(project, ref)]
    with intending(project, "checkout", locks, run=run, ref=ref, before=before, commit=commit) as intent:
        check_at(project.git(), ref, before)
        written = _check_way(project, repository, before, commit)
        index = intent.beside("index")
        git = project.git().at(index=index)
        copy_index(project.git_dir / "index", index)
        git.run(*_STAGE, data=written)
        _refresh(git)
        git.run("read-tree", "-m", before, commit)
        changed = _to_write(git, compared(project.git(), before, commit))
        lent = replace(repository, lent=tuple(object_directories(project)))
        rules = rules_of(lent, read_entries(lent, commit).files)
        write_changes(project, lent, rules, commit, changed, project.root)
        _sync(project.root, changed)
        _refresh(git)
        _put_index(project, intent)
        move_ref(project, intent, ref, commit, before, "bakeoff: merge")


def send(project: Project, repository: Repository, commit: str) -> None:
    """Put what leads to the commit into the user's repository, as far as none of their branches has it."""
    git = repository.git().at(alternates=object_directories(project))
    known = project.git().run("for-each-ref", "--format=%(objectname)", "refs/heads", "refs/remotes").decode()
    head = stands_at(project.git(), "HEAD")
    have = known + (f"{head}\n" if head else "")
    data = f"{commit}\n--not\n{have}".encode()
    pack = git.run("pack-objects", "--quiet", "--revs", "--stdout", "--thin", data=data)
    project.git().run("index-pack", "--stdin", "--fix-thin", data=pack)


def _refresh(git: Git) -> None:
    git.both("update-index", "-q", "--refresh", statuses=range(256))


def _to_write(git: Git, changed: tuple[Changed, ...]) -> tuple[Changed, ...]:
    """Those of the changed paths that a sparse checkout has."""
    listing = b"\0" + git.run("ls-files", "-t", "-z")
    left_out = set(_LEFT_OUT.findall(listing)) if b"\0S " in listing else set()
    return tuple(change for change in changed if os.fsencode(change.path) not in left_out)


def _sync(root: Path, changed: tuple[Changed, ...]) -> None:
    """Have the names of what was written on disk before anything tells of it."""
    folders = {(root / change.path).parent for change in changed}
    if len(folders) > 64:
        os.sync()
        return
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            sync_folder(folder)


def _put_index(project: Project, intent: Intent) -> None:
    index = intent.beside("index")
    with open(index, "rb") as file:
        os.fsync(file.fileno())
    os.replace(index, project.git_dir / "index")
    sync_folder(project.git_dir)


def _check_way(project: Project, repository: Repository, before: str, commit: str) -> bytes:
    """Nothing uncommitted may stand where files are to be written, but for what an apply wrote that was killed.

    Returns the paths of that, each with a NUL behind it.

    Raises:
        ApplyError: something does.
    """
    git = project.git().at(alternates=[repository.objects])
    changed = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, commit).split(b"\0")[:-1]
    kept = [path_text(os.fsdecode(path)) for path in kept_back(git, marked_files(git), changed)]
    if kept:
        raise ApplyError(
            f"the merge was not applied to {project.root}: it changes {', '.join(kept[:10])}, where you have content "
            "that git was told not to look at (assume-unchanged, skip-worktree); nothing was changed. Let git look at "
            "it, or say --branch NAME",
            tuple(kept),
        )
    with _index_copy(project, repository) as git:
        try:
            git.run("read-tree", "-m", "-u", "-n", before, commit)
            return b""
        except GitError:
            pass
    with _index_copy(project, repository) as git:
        git.run("read-tree", commit)
        _refresh(git)
        other = set(git.run("diff-files", "--name-only", "-z").split(b"\0"))
    written = b"".join(path + b"\0" for path in changed if path not in other)
    with _index_copy(project, repository) as git:
        try:
            git.run(*_STAGE, data=written)
            git.run("read-tree", "-m", "-u", "-n", before, commit)
            return written
        except GitError as refused:
            failure = refused
    found = [next(filter(None, names)) for names in _IN_THE_WAY.findall(str(failure))]
    what = f"uncommitted or untracked work is in the way in {', '.join(found)}" if found else str(failure)
    raise ApplyError(
        f"the merge was not applied to {project.root}: {what}; nothing was changed. Commit it or put it aside, or say "
        "--branch NAME",
        tuple(found),
    )


@contextmanager
def _index_copy(project: Project, repository: Repository) -> Iterator[Git]:
    """The user's git with a copy of their index, and with objects that are not theirs yet."""
    index = repository.path / f"way.{secrets.token_hex(6)}.index"
    git = project.git().at(index=index, alternates=[repository.objects])
    try:
        copy_index(project.git_dir / "index", index)
        _refresh(git)
        yield git
    finally:
        index.unlink(missing_ok=True)
