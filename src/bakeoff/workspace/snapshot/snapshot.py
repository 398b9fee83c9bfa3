"""Snapshot: a commit in bakeoff's own repository with the user's tree, made without touching anything of theirs."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from bakeoff.system.temporary import scratch_folder
from bakeoff.workspace.errors import GitError, NoSpaceError, ProjectError
from bakeoff.workspace.filters.attributes import attributes_of
from bakeoff.workspace.filters.drivers import missing_program
from bakeoff.workspace.filters.nondeterministic import unchanged
from bakeoff.workspace.full_disk import no_room
from bakeoff.workspace.repository.git import Git, copy_index, says_full
from bakeoff.workspace.repository.repository import SNAPSHOTS, Repository, object_directories
from bakeoff.workspace.snapshot.invalid_names import why_refused
from bakeoff.workspace.snapshot.project import Project
from bakeoff.workspace.snapshot.skip_worktree import Marked, kept_back, marked_files

Dirty = Literal["none", "tracked", "all"]
GITLINK = b"160000"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that is not in the snapshot, or not as the user's file is, and why.

    Attributes:
        path: relative to the top of the tree.
        reason: in words.
        differs: the snapshot has the content that git knows, and the user's file has another.
    """

    path: str
    reason: str
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The user's tree at one moment.

    Attributes:
        commit: its commit in bakeoff's repository.
        tree: its tree.
        head: the user's HEAD commit then, or the base that was asked for; None before the first commit.
        branch: the user's branch then; None for a detached HEAD.
        dirty: whether it holds more than `head` does.
        linked: whether the user's objects could be hard-linked; else it has no history.
        left_out: what is not in it.
        origin: the user's own tree, where this one has work of attempts on top of it; None where it is their own.
    """

    commit: str
    tree: str
    head: str | None
    branch: str | None
    dirty: bool
    linked: bool
    left_out: tuple[LeftOut, ...] = ()
    origin: str | None = None

    def with_work(self, commit: str, tree: str) -> Snapshot:
        """The same with what attempts made of it: files and all, but what git runs is said by the user's tree."""
        return replace(self, commit=commit, tree=tree, dirty=True, left_out=(), origin=self.origin or self.tree)


def take_snapshot(
    project: Project,
    repository: Repository,
    *,
    dirty: Dirty = "all",
    base: str | None = None,
    without: Sequence[str] = (),
) -> Snapshot:
    """Snapshot the work tree, or with `base` that commit of the user's. To be called in a thread.

    HEAD, index, refs, configuration and files of the user stay the same bytes.

    Args:
        project: the user's work tree.
        repository: where the snapshot goes.
        dirty: `none` for HEAD alone, `tracked` for its files as they are now, `all` for untracked files too.
        base: a commit by any name that git knows; then nothing uncommitted is taken.
        without: paths whose untracked files are not taken, as if they were ignored.

    Raises:
        ProjectError: there are unresolved conflicts, there is no such base, or nothing is committed yet and nothing
            else was asked for.

    Passes on GitError: git could not read the work tree.
    """
    git = project.git()
    head, head_tree, branch = _head(git)
    if base is not None:
        head = git.line("rev-parse", "-q", "--verify", "--end-of-options", f"{base}^{{commit}}", statuses=(0, 1, 128))
        if not head:
            raise ProjectError(f"{project.root}: there is no commit {base!r} to start from")
        head_tree, dirty = git.line("rev-parse", f"{head}^{{tree}}"), "none"
    if dirty == "none":
        if head is None:
            raise ProjectError(
                f"{project.root} has no commit yet: commit something first, or start from its files as they are"
            )
        tree, left_out = head_tree, _submodules(git, head)
    else:
        tree, left_out = _work_tree(project, repository, head, dirty, without)
    linked = repository.link(project)
    if not linked:
        _pack(project, repository, tree)
    dirty_tree = head is None or tree != head_tree
    # A commit of the user's is taken as it is, where it holds just that tree and could be linked.
    commit = head if head and linked and not dirty_tree else _commit(repository, tree, head if linked else None)
    repository.set_ref(f"{SNAPSHOTS}/{commit}", commit)
    return Snapshot(commit, tree, head, branch, dirty_tree, linked, left_out)


def _head(git: Git) -> tuple[str | None, str, str | None]:
    """The user's HEAD commit, its tree, and their branch."""
    line = git.line("rev-list", "-1", "--no-commit-header", "--format=%H %T", "HEAD", "--", statuses=(0, 128))
    commit, _, tree = line.partition(" ")
    branch = git.line("symbolic-ref", "-q", "HEAD", statuses=(0, 1, 128))
    return commit or None, tree, branch.removeprefix("refs/heads/") if branch.startswith("refs/heads/") else None


def _work_tree(
    project: Project, repository: Repository, head: str | None, dirty: Dirty, without: Sequence[str]
) -> tuple[str, tuple[LeftOut, ...]]:
    """The tree of the files as they are, by way of a copy of the user's index.

    Raises:
        GitError: git cannot read them.
        NoSpaceError: there is no room for it.
    """
    index = repository.path / f"snapshot.{secrets.token_hex(6)}.index"
    theirs = object_directories(project)
    git = project.git().at(index=index, objects=repository.objects, alternates=theirs)
    excludes = index.with_suffix(".excludes")
    settings = ("core.safecrlf=false", "sparse.expectFilesOutsideOfPatterns=true", f"core.excludesFile={excludes}")
    git = git.at(config=(*git.config, *settings))
    try:
        excludes.write_bytes(project.excludes + ignore_rules(without))
        try:
            copy_index(project.git_dir / "index", index)
        except FileNotFoundError:
            if head is not None:
                git.run("read-tree", head)
        submodules, marked = _prepare(project, git)
        unfiltered = _unfiltered(project, git, dirty)
        if unfiltered:
            new = [path.path for path in unfiltered if not path.differs]
            excludes.write_bytes(project.excludes + ignore_rules([*without, *new]))
        status, _, said = git.both("add", "-u" if dirty == "tracked" else "-A", "--ignore-errors", statuses=(0, 1, 128))
        if status == 128:
            text = said.decode(errors="replace").strip()
            if says_full(text):
                raise NoSpaceError(no_room(f"for the snapshot of {project.root}"), 128)
            raise GitError(
                f"git cannot read the files of {project.root}: {text}{_FILTER * ('clean filter' in text)}", 128
            )
        missed = _missed(git, dirty) if status else ()
        tree = git.line("write-tree")
        if head is not None and _restore_unchanged(project, repository, git, head, tree):
            tree = git.line("write-tree")
        added = _added_gitlinks(git, head, tree) if b"embedded" in said else []
        kept = [LeftOut(os.fsdecode(path), _KEPT, differs=True) for path in kept_back(git, marked)]
    finally:
        index.unlink(missing_ok=True)
        excludes.unlink(missing_ok=True)
    found = dict.fromkeys(added, "an embedded repository") | dict.fromkeys(submodules, "a submodule")
    inner = (LeftOut(os.fsdecode(path), f"{found[path]}: {_ONLY}") for path in sorted(found))
    return tree, (*missed, *kept, *unfiltered, *inner)


_FILTER = (
    "\nIt is a content filter of your git configuration that failed: mend it, or take what is committed alone by "
    '`dirty = "none"` in [tool.bakeoff.slots]'
)


def ignore_rules(paths: Sequence[str]) -> bytes:
    """Ignore rules for exactly those paths."""
    quoted = [re.sub(rb"([\\*?\[ !#])", rb"\\\1", os.fsencode(path)) for path in paths]
    return b"".join(b"/" + path + b"\n" for path in quoted)


def _prepare(project: Project, git: Git) -> tuple[set[bytes], Marked]:
    """Refuse conflicts; returns the submodules, and the files that the index was told not to look at.

    Raises:
        ProjectError: there are conflicts.
    """
    listing = b"\0" + git.run("ls-files", "-s", "-v", "-z")
    # What is rare is looked for by plain text first: that takes a tenth of the time.
    unmerged = any(text in listing for text in (b" 1\t", b" 2\t", b" 3\t"))
    conflicts = list(dict.fromkeys(_UNMERGED.findall(listing))) if unmerged else []
    if conflicts:
        paths = ", ".join(os.fsdecode(path) for path in conflicts[:5])
        more = f" and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
        raise ProjectError(
            f"{project.root} has unresolved conflicts in {paths}{more}: resolve or abort the merge first"
        )
    return set(_GITLINKS.findall(listing)) if b" 160000 " in listing else set(), marked_files(git, listing)


_KEPT = "git was told to leave your changes to it aside (assume-unchanged, skip-worktree); what it knows is taken"


def _unfiltered(project: Project, git: Git, dirty: Dirty) -> list[LeftOut]:
    """Changed and new files whose content filter is not there, and need not be: git would store them as they stand.

    Of the changed ones the index is told not to look at them.
    """
    programs = {d.name: missing_program(d.cleans, project.root) for d in project.filters if d.cleans and not d.required}
    missing = {os.fsencode(name): program for name, program in programs.items() if program is not None}
    if not missing:
        return []
    changed = git.run("diff-files", "--name-only", "-z", "--diff-filter=M").split(b"\0")[:-1]
    new = git.run("ls-files", "-o", "-z", "--exclude-standard").split(b"\0")[:-1] if dirty == "all" else []
    found = [(path, value) for path, _, value in attributes_of(git, [*changed, *new], ["filter"]) if value in missing]
    tracked = {path for path, _ in found} & set(changed)
    git.run("update-index", "--assume-unchanged", "-z", "--stdin", data=b"".join(path + b"\0" for path in tracked))
    return [
        LeftOut(
            os.fsdecode(path),
            f"the program {missing[value]} of its content filter {os.fsdecode(value)!r} was not found"
            + ("; the content that git knows is taken" if path in tracked else ""),
            differs=path in tracked,
        )
        for path, value in found
    ]


# Tag, mode, object, stage and path, as in "H 100644 0123... 0\tpath".
_UNMERGED = re.compile(rb"(?<=\0)\S \d+ [0-9a-f]+ [123]\t([^\0]+)")
_GITLINKS = re.compile(rb"(?<=\0)\S 160000 [0-9a-f]+ 0\t([^\0]+)")
_NEW_GITLINKS = re.compile(rb":\d+ 160000 [0-9a-f]+ [0-9a-f]+ [A-Z]\0([^\0]+)")
_SUBMODULES = re.compile(rb"(?<=\0)160000 commit [0-9a-f]+\t([^\0]+)")


def _restore_unchanged(project: Project, repository: Repository, git: Git, head: str, tree: str) -> bool:
    """Have the index hold for filtered files what HEAD has, where that comes to the same; false where none is so."""
    names = {driver.name.encode() for driver in project.filters if driver.may_salt}
    if not names:
        return False
    raw = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--diff-filter=M", f"{head}^{{tree}}", tree).split(
        b"\0"
    )
    changed = {path: facts[1:].split(b" ") for facts, path in zip(raw[::2], raw[1::2], strict=False)}
    filtered = [path for path, _, value in attributes_of(git, changed, ["filter"]) if value in names]
    known = {path: (changed[path][0], changed[path][2]) for path in filtered if changed[path][0].startswith(b"100")}
    with scratch_folder(".filters.", repository.path) as folder:
        there = unchanged(git.at(index=Path(folder) / "index"), known, project.root, Path(folder) / "files")
    lines = b"".join(b"%s %s\t%s\0" % (changed[path][1], known[path][1], path) for path in there)
    if there:
        git.run("update-index", "-z", "--index-info", data=lines)
    return bool(there)


def _missed(git: Git, dirty: Dirty) -> tuple[LeftOut, ...]:
    """Files that `add` could not take; it names them in words only, so git tells what is still not as in the index."""
    tracked = git.run("diff-files", "--name-only", "-z").split(b"\0")[:-1]
    why = "it cannot be read; the last known content is taken"
    found = [LeftOut(os.fsdecode(path), why, differs=True) for path in tracked]
    if dirty == "all":
        listing = git.run("ls-files", "-o", "-z", "--exclude-standard", "--directory", "--no-empty-directory")
        for path in listing.split(b"\0")[:-1]:
            embedded = path.endswith(b"/") and (git.work_tree or Path()).joinpath(os.fsdecode(path), ".git").exists()
            usual = "an embedded repository without a commit" if embedded else "it cannot be read"
            reason = why_refused(path.rstrip(b"/"), link=False) or usual
            found.append(LeftOut(os.fsdecode(path), reason))
    return tuple(found)


def _added_gitlinks(git: Git, head: str | None, tree: str) -> list[bytes]:
    """Repositories that `add` found: the tree holds only the id of their commit, and none of their files."""
    above = head or git.line("hash-object", "-t", "tree", os.devnull)
    return _NEW_GITLINKS.findall(git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", f"{above}^{{tree}}", tree))


def _submodules(git: Git, head: str) -> tuple[LeftOut, ...]:
    listing = b"\0" + git.run("ls-tree", "-r", "-z", head)
    return tuple(LeftOut(os.fsdecode(path), f"a submodule: {_ONLY}") for path in sorted(_SUBMODULES.findall(listing)))


_ONLY = (
    "only the id of its commit is in the tree, none of its files; `submodules`, `copy` or `link` in "
    "[tool.bakeoff.slots] gives slots those that you have"
)


def _pack(project: Project, repository: Repository, tree: str) -> None:
    """Copy the objects of one tree, where they cannot be linked."""
    git = project.git().at(objects=repository.objects, alternates=object_directories(project))
    target = repository.objects / "pack" / "pack"
    git.run("pack-objects", "--quiet", "--revs", str(target), data=f"{tree}\n".encode())


def _commit(repository: Repository, tree: str, parent: str | None) -> str:
    """A commit of `tree`, the same for the same tree and parent."""
    git = repository.git()
    dates = {"GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": "@1 +0000"}
    above = ("-p", parent) if parent is not None else ()
    return git.at(env={**git.env, **dates}).line("commit-tree", *above, "-m", "bakeoff snapshot", tree)


@dataclass(slots=True)
class Entries:
    """Entries of a snapshot's tree: mode and object id of each path, and all its folders."""

    files: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)
    folders: set[bytes] = field(default_factory=set)

    def below(self, folder: bytes) -> list[bytes]:
        """The paths inside a folder."""
        prefix = folder + b"/"
        return [path for path in self.files if path.startswith(prefix)] if folder in self.folders else []


def read_entries(repository: Repository, tree: str) -> Entries:
    """Entries of the tree."""
    entries = Entries()
    for entry in repository.git().run("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
        facts, _, path = entry.partition(b"\t")
        mode, _, oid = facts.split(b" ")
        entries.files[path] = (mode, oid)
        folder = path.rpartition(b"/")[0]
        while folder and folder not in entries.folders:
            entries.folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    return entries
