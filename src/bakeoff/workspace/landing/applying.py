"""Apply of a result: as files in the user's checkout, or as a branch of the user's repository."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bakeoff.report.escape import path_text
from bakeoff.system.folders import walk
from bakeoff.workspace.errors import ApplyError, GitError
from bakeoff.workspace.filters.attributes import rules_of
from bakeoff.workspace.landing.intent import intending
from bakeoff.workspace.landing.merging import commit_tree, merge_trees
from bakeoff.workspace.landing.refs import check_at, lock_of, move_ref
from bakeoff.workspace.landing.staging import check_same_filters
from bakeoff.workspace.landing.writing import write_changes
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import Repository, object_directories, open_repository
from bakeoff.workspace.results.results import Changed, changed_between
from bakeoff.workspace.results.salvage import salvage_name
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
