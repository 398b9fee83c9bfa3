"""Apply of a result: as files in the user's checkout, or as a branch of the user's repository."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.report.escape import path_text
from bakeoff.system.folders import walk
from bakeoff.system.temporary import scratch_folder
from bakeoff.workspace.errors import ApplyError, GitError
from bakeoff.workspace.files import RefusedError, folder_of
from bakeoff.workspace.filters.attributes import rules_of
from bakeoff.workspace.landing.intent import intending
from bakeoff.workspace.landing.merging import commit_tree, merge_trees
from bakeoff.workspace.landing.refs import check_at, lock_of, move_ref
from bakeoff.workspace.landing.staging import Rules, check_same_filters, staged_files
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import Repository, object_directories, open_repository
from bakeoff.workspace.results.results import Changed, changed_between
from bakeoff.workspace.results.salvage import salvage_name
from bakeoff.workspace.snapshot.cone import folders_above
from bakeoff.workspace.snapshot.project import Project, find_project
from bakeoff.workspace.snapshot.snapshot import GITLINK, Snapshot, read_entries, take_snapshot
from bakeoff.workspace.snapshot.submodules import Submodules, moved_submodules


@dataclass(frozen=True, slots=True)
class Applied:
    """Outcome of an apply.

    Attributes:
        changed: the files that were written or deleted.
        before: the ref that keeps the checkout as it was; None when nothing had to be changed.
        merged: whether the checkout had changed since the snapshot.
        submodules: what files cannot say, and the user has to do: the commit that each submodule is to stand at, None
            for one that is to go.
    """

    changed: tuple[Changed, ...]
    before: str | None
    merged: bool
    submodules: Mapping[str, str | None] = field(default_factory=dict)


def open_project(path: Path, cache: Path | None = None) -> tuple[Project, Repository]:
    """The user's project at `path` and bakeoff's repository of it, for work that needs no slot."""
    project = find_project(path)
    return project, open_repository(ProjectCache.of(project.common_dir, cache), project.object_format)


def apply(project: Project, repository: Repository, commit: str, run: str = "") -> Applied:
    """Write a result's changes into the user's checkout. To be called in a thread.

    What the checkout has that the snapshot had not is kept by an in-memory merge; the index and HEAD stay. Before a
    file is touched the checkout as it is stands under a salvage ref, and every file is replaced at once, so that a
    crash midway loses nothing. `run` is what the result is of, for whoever comes after a crash.

    Passes on ApplyError: both changed the same places, or an ignored file is in the way; nothing was changed.
    """
    with intending(project, "files", run=run, commit=commit):
        return _apply(project, repository, commit)


def _apply(project: Project, repository: Repository, commit: str) -> Applied:
    base = repository.git().line("rev-parse", "--verify", f"{commit}^1")
    now = take_snapshot(project, repository, dirty="all")
    base_tree, wanted = repository.tree_of(base), repository.tree_of(commit)
    what = f"{commit[:12]} cannot be applied to {project.root}"
    target = merge_trees(repository, base_tree, now.tree, wanted, what, Submodules(project.root))
    changed, merged = changed_between(repository, now.tree, target), now.tree != base_tree
    submodules = moved_submodules(repository.git(), now.tree, target)
    files = tuple(change for change in changed if change.path not in submodules or change.status == "T")
    if not changed:
        return Applied((), None, merged)
    _check_way(project, repository, now, changed, submodules)
    rules = rules_of(repository, read_entries(repository, now.tree).files)
    check_same_filters(project, repository, rules, target, changed)
    before = salvage_name("apply", commit[:12]) if files else None
    if before is not None:
        repository.set_ref(before, now.commit)
    write_changes(project, repository, rules, target, changed, project.root)
    return Applied(files, before, merged, submodules)


def _check_way(
    project: Project, repository: Repository, now: Snapshot, changed: tuple[Changed, ...], submodules: Container[str]
) -> None:
    """Nothing may be overwritten or hidden that the snapshot of the checkout does not hold.

    Raises:
        ApplyError: something would be.
    """
    differing = {left.path for left in now.left_out if left.differs}
    lost = [change.path for change in changed if change.path in differing]
    if lost:
        raise ApplyError(
            f"the result cannot be applied to {project.root}: it changes {', '.join(map(path_text, lost[:10]))}, where "
            "you have content that git does not look at (assume-unchanged, skip-worktree, unreadable); nothing was "
            "changed. Let git look at it, or say --branch NAME",
            tuple(lost),
        )
    entries = read_entries(repository, now.tree)
    links = {path for path, (mode, _) in entries.files.items() if mode == GITLINK}
    there = {path for path in links if _unknown_inside(project.root, path, ())}
    blocked = []
    for change in changed:
        path = os.fsencode(change.path)
        stuck = change.status in "AT" and any(path == link or path.startswith(link + b"/") for link in there)
        # A submodule may stand in a folder that is there already.
        added = change.status == "A" and not (change.path in submodules and _is_empty(project.root, path))
        if stuck or (added and _in_the_way(project.root, path, entries.files.keys(), entries.folders)):
            blocked.append(change.path)
    if blocked:
        raise ApplyError(
            f"the result cannot be applied to {project.root}: ignored files or submodules stand where it has "
            f"{', '.join(path_text(path) for path in blocked[:10])}; nothing was changed",
            tuple(blocked),
        )


def _is_empty(root: Path, path: bytes) -> bool:
    place = os.path.join(os.fsencode(root), path)
    return os.path.isdir(place) and not os.path.islink(place) and not os.listdir(place)


def _in_the_way(root: Path, path: bytes, files: Container[bytes], folders: set[bytes]) -> bool:
    """Whether something unknown stands at `path`, or where a folder of it is to be."""
    parts = path.split(b"/")
    for end in range(1, len(parts) + 1):
        part = b"/".join(parts[:end])
        if part in files:
            return False  # it is replaced, and kept by the salvage ref
        try:
            found = os.lstat(os.path.join(os.fsencode(root), part))
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(found.st_mode):
            return True
        if end == len(parts):
            return bool(_unknown_inside(root, part, files)) or part not in folders
    return False


def _unknown_inside(root: Path, folder: bytes, files: Container[bytes]) -> list[bytes]:
    unknown: list[bytes] = []
    for inner in walk(os.path.join(os.fsencode(root), folder)):
        paths = [folder + b"/" + inner.below(name) for name, found in inner.entries if not stat.S_ISDIR(found.st_mode)]
        unknown += [path for path in paths if path not in files] if inner.failure is None else [inner.path]
    return unknown


def write_changes(
    project: Project, repository: Repository, rules: Rules, target: str, changed: tuple[Changed, ...], root: Path
) -> None:
    """Make the changed paths below `root` what a checkout of the tree `target` has there; no link is followed.

    The `.gitattributes` in `rules` say which content filters are run; those of `target` say all else.

    Passes on GitError: a filter that is required failed; nothing was changed.
    """
    with scratch_folder(".apply.", repository.path) as folder:
        staged = staged_files(project, repository, rules, target, changed, Path(folder))
        put = [os.fsencode(change.path) for change in changed if change.status != "D"]
        gone = {os.fsencode(change.path) for change in changed if change.status == "D"}
        # What stands in the place of a folder has to go first.
        behind = {path for path in put if not gone.isdisjoint(folders_above([path]))}
        with _written(staged, root, [path for path in put if path not in behind]) as ready:
            for path in sorted(gone, reverse=True):
                _delete(root, path)
            for path in ready:
                _put(root, path)
        with _written(staged, root, [path for path in put if path in behind]) as ready:
            for path in ready:
                _put(root, path)
        for path in put:
            if _is_submodule(staged, path):
                _put_submodule(root, path)


def _is_submodule(staged: Path, path: bytes) -> bool:
    """Whether the tree has the id of a commit at `path`: git makes an empty folder of that."""
    place = os.path.join(os.fsencode(staged), path)
    return os.path.isdir(place) and not os.path.islink(place)


def _put_submodule(root: Path, path: bytes) -> None:
    """See that a folder stands at `path`, empty where it is new; one that stands there is left as it is."""
    _make_folders(root, path.rpartition(b"/")[0])
    with folder_of(root, path) as (folder, name):
        with suppress(FileNotFoundError):
            if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=folder)
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)


@contextmanager
def _written(staged: Path, root: Path, paths: list[bytes]) -> Iterator[list[bytes]]:
    """The files written beside where they belong, and on disk; nothing of them is left where that fails."""
    made: list[bytes] = []
    ready: list[bytes] = []
    try:
        for path in paths:
            if not _is_submodule(staged, path):
                made += _make_folders(root, path.rpartition(b"/")[0])
                ready.append(path)
                _write_beside(staged, root, path, sync=len(paths) < MANY)
        if len(paths) >= MANY:
            os.sync()
        yield ready
    except BaseException:
        for path in ready:
            with suppress(OSError, RefusedError), folder_of(root, path) as (folder, name):
                os.unlink(_beside(name), dir_fd=folder)
        for inner in reversed(made):
            with suppress(OSError, RefusedError), folder_of(root, inner) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        raise


MANY = 64
"""Files from which the whole disk is synchronised once, and not each file by itself."""


def _delete(root: Path, path: bytes) -> None:
    """Delete a file and the folders that it leaves empty; it may be gone already."""
    try:
        with folder_of(root, path) as (folder, name):
            try:
                os.unlink(name, dir_fd=folder)
            except (IsADirectoryError, PermissionError):
                os.rmdir(name, dir_fd=folder)  # a submodule's folder; one that is checked out stays, as with git
        parent = path.rpartition(b"/")[0]
        while parent:
            os.rmdir(os.path.join(os.fsencode(root), parent))
            parent = parent.rpartition(b"/")[0]
    except (OSError, RefusedError):
        return


def _beside(name: bytes) -> bytes:
    """Temporary name of a file until it is whole: always the same, so that what a crash left is taken up again."""
    return f".{hashlib.sha256(name).hexdigest()[:12]}.bakeoff".encode()


def _write_beside(staged: Path, root: Path, path: bytes, *, sync: bool) -> None:
    source = os.path.join(os.fsencode(staged), path)
    with folder_of(root, path) as (folder, name):
        fresh = _beside(name)
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=folder)
        if os.path.islink(source):
            os.symlink(os.readlink(source), fresh, dir_fd=folder)
            return
        with open(source, "rb") as file:
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
            with open(descriptor, "wb") as copy:
                shutil.copyfileobj(file, copy, 1 << 20)
                copy.flush()
                if sync:
                    os.fsync(copy.fileno())
                os.fchmod(copy.fileno(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))


def _put(root: Path, path: bytes) -> None:
    """Put what was written beside in the place of what stands at `path`, at once; no link is followed."""
    with folder_of(root, path) as (folder, name):
        _clear_folder(folder, name)
        os.replace(_beside(name), name, src_dir_fd=folder, dst_dir_fd=folder)


def _clear_folder(folder: int, name: bytes) -> None:
    """A folder in the way of a file has been emptied of files by now; its empty folders go too."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(found.st_mode):
        os.rmdir(name, dir_fd=folder)


def _make_folders(root: Path, path: bytes) -> list[bytes]:
    """Make the folder `path` and those that it lies in; returns those that were not there, outermost first.

    Passes on RefusedError: something else stands there.
    """
    if not path:
        return []
    made = []
    missing: list[bytes] = []
    above = path
    while above and not _is_folder(root, above):
        missing.append(above)
        above = above.rpartition(b"/")[0]
    for inner in reversed(missing):
        with folder_of(root, inner) as (folder, name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            made.append(inner)
    return made


def _is_folder(root: Path, path: bytes) -> bool:
    try:
        with folder_of(root, path) as (folder, name):
            return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def check_new_branch(project: Project, name: str) -> None:
    """See to it that a branch can be made with this name.

    Raises:
        ApplyError: it is taken, or no name for a branch; or nothing is committed yet.
    """
    git = project.git()
    if git.both("check-ref-format", "--branch", name, statuses=range(256))[0]:
        raise ApplyError(f"{name!r} cannot be the name of a branch")
    if git.line("rev-parse", "-q", "--verify", f"refs/heads/{name}", statuses=(0, 1, 128)):
        raise ApplyError(f"{project.root} has a branch {name} already; choose another name")
    if not git.line("rev-parse", "-q", "--verify", "HEAD^{commit}", statuses=(0, 1, 128)):
        raise ApplyError(f"{project.root} has no commit yet that a branch could stand on")


def branch(project: Project, repository: Repository, commit: str, name: str, message: str, run: str = "") -> str:
    """Make the branch `name` in the user's repository: one commit with the result, on top of their HEAD.

    HEAD, index and files stay. What was uncommitted in the snapshot is part of the result. When HEAD moved since the
    snapshot, the result is merged onto it in memory. To be called in a thread. Returns the new commit.

    Raises:
        ApplyError: the name is taken or no name for a branch, nothing is committed yet, or the result does not fit
            HEAD.
    """
    git = project.git()
    ref = f"refs/heads/{name}"
    check_new_branch(project, name)
    head = git.line("rev-parse", "--verify", "HEAD^{commit}")
    tree = _onto(project, repository, commit, head, name)
    both = _with_theirs(project, repository)
    made = commit_tree(both, tree, [head], message)
    data = f"{made}\n--not\n{head}\n".encode()
    pack = both.run("pack-objects", "--quiet", "--revs", "--stdout", "--thin", data=data)
    git.run("index-pack", "--stdin", "--fix-thin", data=pack)
    check_at(git, ref, None)
    with intending(project, "ref", lock_of(project, ref), run=run, ref=ref, commit=commit) as intent:
        try:
            move_ref(project, intent, ref, made, None, "bakeoff: result")
        except (ApplyError, GitError, OSError) as failure:
            raise ApplyError(f"the branch {name} was not made: {failure}") from failure
    return made


def branched(project: Project, repository: Repository, commit: str, name: str, message: str) -> str | None:
    """The commit of the branch `name`, if it is what `branch` made of the same; None otherwise. Blocks."""
    asked = ("log", "-1", "--format=%H %P%n%B", f"refs/heads/{name}", "--")
    said = project.git().run(*asked, statuses=(0, 128)).decode("utf-8", "replace")
    ids, _, text = said.partition("\n")
    made, _, parent = ids.partition(" ")
    if not parent or " " in parent or text.strip() != message.strip():
        return None
    try:
        tree = _onto(project, repository, commit, parent, name)
    except ApplyError:
        return None
    return made if project.git().line("rev-parse", f"{made}^{{tree}}") == tree else None


def _onto(project: Project, repository: Repository, commit: str, head: str, name: str) -> str:
    """The tree of the result on top of `head`."""
    tree = repository.tree_of(commit)
    snapshot = repository.git().line("rev-parse", "--verify", f"{commit}^1")
    above = repository.git().line("rev-parse", "-q", "--verify", f"{snapshot}^1", statuses=(0, 1, 128))
    if head in (snapshot, above):
        return tree
    repository.link(project)
    theirs = project.git().line("rev-parse", f"{head}^{{tree}}")
    what = f"the branch {name} cannot stand on the present HEAD {head[:12]}"
    return merge_trees(repository, repository.tree_of(snapshot), theirs, tree, what, Submodules(project.root))


def _with_theirs(project: Project, repository: Repository) -> Git:
    return as_user(project, repository.git().at(alternates=object_directories(project)))


def as_user(project: Project, git: Git) -> Git:
    """The same git, that commits as the user where they have said who they are, in git's variables or settings."""
    who = {entry.partition("=")[0].removeprefix("user.").upper(): entry.partition("=")[2] for entry in project.identity}
    named = {f"GIT_{role}_{part}": text for role in _ROLES for part, text in who.items()}
    said = {name: os.environ.get(name, "") for name in (f"GIT_{role}_{part}" for role in _ROLES for part in _PARTS)}
    return git.at(env={**git.env, **named, **{name: text for name, text in said.items() if text}})


_ROLES, _PARTS = ("AUTHOR", "COMMITTER"), ("NAME", "EMAIL")
