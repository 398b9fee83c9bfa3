"""Results of attempts: the tree of a slot as `git add -A` would make it, as a commit in bakeoff's repository."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import IO

from bakeoff.system.named_files import read_exactly
from bakeoff.workspace.errors import GitError
from bakeoff.workspace.files import RefusedError, is_hollow, open_regular, read_link
from bakeoff.workspace.filters.attributes import quoted
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.results.blobs import CommitPlan, convert
from bakeoff.workspace.results.changes import Changes, Refused
from bakeoff.workspace.results.shadow import Shadow, shadow
from bakeoff.workspace.slots.base import Base
from bakeoff.workspace.snapshot.invalid_names import repository_of, why_refused
from bakeoff.workspace.snapshot.snapshot import GITLINK

_CHUNK = 1 << 20
_HOLLOW = 1 << 30
"""Bytes of a file from which it must be on disk, too."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One path of a result.

    Attributes:
        path: relative to the top of the tree.
        status: `A` added, `M` modified, `D` deleted, `T` another type of file.
        added: lines added; None for a binary file.
        deleted: lines deleted; None for a binary file.
    """

    path: str
    status: str
    added: int | None
    deleted: int | None


@dataclass(frozen=True, slots=True)
class Result:
    """The content of a slot at one moment, as a commit.

    Attributes:
        ref: the ref that keeps it, in bakeoff's repository.
        commit: its commit; its parent is `base`.
        tree: its tree; equal trees have equal ids.
        base: the snapshot's commit.
        changed: what differs from the snapshot.
        ignored: new files and whole folders that ignore rules leave out.
        refused: paths that could not be taken.
    """

    ref: str
    commit: str
    tree: str
    base: str
    changed: tuple[Changed, ...]
    ignored: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()

    @property
    def stat(self) -> str:
        """Diffstat: the size of a change, in words."""
        added = sum(path.added or 0 for path in self.changed)
        deleted = sum(path.deleted or 0 for path in self.changed)
        files = len(self.changed)
        return f"{files} file{'' if files == 1 else 's'} changed, {added} added, {deleted} deleted"


def commit_changes(base: Base, changes: Changes, ref: str, message: str, limit: int, *, usable: bool = False) -> Result:
    """Commit what changed in a slot as `ref`. To be called in a thread.

    The tree is that of `git add -A` in the slot, but for repositories inside it: `git add` records only the id of
    their commit, here their files are taken. Pipes, sockets, devices, and files of more than `limit` bytes are refused;
    where it is to be `usable`, also files that no slot could hold because it is given something below their path.

    Passes on GitError: bakeoff's repository cannot be written, say for want of space.
    """
    with shadow(base, changes) as rules:
        plan = _plan(base, changes, rules, usable=usable)
        convert(base, changes, rules, plan, limit)
        commit, tree = _import(base, changes, plan, ref, message, limit)
    return Result(
        ref=ref,
        commit=commit,
        tree=tree,
        base=base.snapshot.commit,
        changed=changed_between(base.repository, base.snapshot.commit, commit),
        ignored=tuple(os.fsdecode(path) for path in sorted(plan.ignored)),
        refused=tuple(sorted(plan.refused, key=lambda refused: refused.path)),
    )


LEFT_OUT = "Left out: "
"""Prefix of the line of a result's message that says what was refused, as JSON."""


def make_result(base: Base, changes: Changes, ref: str, message: str, limit: int) -> Result:
    """The same, with a message that says what was refused, so that `result_at` can tell. To be called in a thread.

    Passes on GitError: bakeoff's repository cannot be written.
    """
    made = commit_changes(base, changes, ref, message, limit, usable=True)
    if not made.refused:
        return made
    said = json.dumps([[path.path, path.reason] for path in made.refused])
    data = f"{message}\n\n{LEFT_OUT}{said}\n".encode("utf-8", "replace")
    commit = base.repository.git().run("commit-tree", made.tree, "-p", made.base, "-F", "-", data=data).decode().strip()
    base.repository.set_ref(ref, commit)
    return replace(made, commit=commit)


def result_at(base: Base, ref: str) -> Result | None:
    """The result that stands at `ref`, as `make_result` made it, but for what git ignores; None where none does.

    Passes on GitError: it cannot be read. To be called in a thread.
    """
    commit = base.repository.refs(ref).get(ref)
    if commit is None:
        return None
    lines = base.repository.git().run("log", "-1", "--format=%B", commit).decode("utf-8", "replace").splitlines()
    said = next((line for line in lines if line.startswith(LEFT_OUT)), None)
    refused = [] if said is None else json.loads(said.removeprefix(LEFT_OUT))
    return Result(
        ref=ref,
        commit=commit,
        tree=base.repository.tree_of(commit),
        base=base.snapshot.commit,
        changed=changed_between(base.repository, base.snapshot.commit, commit),
        refused=tuple(Refused(path, reason) for path, reason in refused),
    )


def not_in_results(base: Base, changes: Changes) -> list[str]:
    """New files and whole folders that ignore rules leave out of a result. To be called in a thread."""
    with shadow(base, changes) as rules:
        return [os.fsdecode(path) for path in sorted(_plan(base, changes, rules).ignored)]


def _plan(base: Base, changes: Changes, rules: Shadow, *, usable: bool = False) -> CommitPlan:
    entries = base.entries
    plan = CommitPlan(refused=list(changes.refused))
    gitlinks = {path for path, (mode, _) in entries.files.items() if mode == GITLINK}
    for path in changes.gone:
        if path in gitlinks and path in changes.folders:
            continue  # made anew: what lies in it is refused below, as in one that was there all the time
        if path in entries.files or path in entries.folders:
            plan.deletes.add(path)
    for path in changes.folders:  # a folder where a file was
        if path in entries.files and path not in gitlinks:
            plan.deletes.add(path)
    unknown: list[bytes] = []
    refused: dict[bytes, Refused] = {}
    for path in sorted(changes.files):
        if path in entries.folders:
            plan.deletes.add(path)
        reason = _forbidden(path, gitlinks, link=stat.S_ISLNK(changes.files[path].st_mode))
        if reason is None and usable and (given := base.given_below(path)) is not None:
            reason = f"a folder has to stand there, for {given}, which slots are given"
        if reason is not None:
            named = repository_of(path) or path  # all in it as one
            refused.setdefault(named, Refused(os.fsdecode(named), reason))
            continue
        if path in entries.files:
            plan.puts[path] = None
        else:
            unknown.append(path)
    plan.refused += refused.values()
    plan.puts |= dict.fromkeys(_not_ignored(base, unknown, rules, plan))
    return plan


def _forbidden(path: bytes, gitlinks: set[bytes], *, link: bool) -> str | None:
    """Why git could not store the path, or not check it out again."""
    if (reason := why_refused(path, link=link)) is not None:
        return reason
    folder = path.rpartition(b"/")[0]
    while gitlinks and folder:
        if folder in gitlinks:
            return "it lies in a submodule"
        folder = folder.rpartition(b"/")[0]
    return None


def _not_ignored(base: Base, paths: list[bytes], rules: Shadow, plan: CommitPlan) -> list[bytes]:
    """The paths that no rule ignores. Whole new folders are asked about first: what is in an ignored one is not."""
    tops: dict[bytes, list[bytes]] = {}
    single: list[bytes] = []
    for path in paths:
        top = _top_folder(base, path)
        if top is None:
            single.append(path)
        else:
            tops.setdefault(top, []).append(path)
    ignored = rules.ignored([top + b"/" for top in tops])
    plan.ignored += ignored
    for top, inside in tops.items():
        if top + b"/" not in ignored:
            single += inside
    left_out = rules.ignored(single)
    plan.ignored += left_out
    return [path for path in single if path not in left_out]


def _top_folder(base: Base, path: bytes) -> bytes | None:
    """The uppermost folder of `path` that the snapshot does not have."""
    at = path.find(b"/")
    while at >= 0:
        if path[:at] not in base.entries.folders:
            return path[:at]
        at = path.find(b"/", at + 1)
    return None


def _import(base: Base, changes: Changes, plan: CommitPlan, ref: str, message: str, limit: int) -> tuple[str, str]:
    """One `git fast-import`; returns commit and tree."""
    text = message.encode("utf-8", "replace")

    def write(pipe: IO[bytes]) -> None:
        try:
            pipe.write(b"feature done\nfeature get-mark\nfeature ls\n")
            pipe.write(b"commit %s\nmark :1\n" % ref.encode())
            pipe.write(b"committer bakeoff <bakeoff@localhost> %d +0000\n" % int(time.time()))
            pipe.write(b"data %d\n%s\nfrom %s\n" % (len(text), text, base.snapshot.commit.encode()))
            for path in sorted(plan.deletes):
                pipe.write(b"D %s\n" % quoted(path))
            for path in list(plan.puts):
                with plan.refusing(path):
                    _put(pipe, base, changes, plan, path, limit)
            for path, (mode, oid) in plan.kept.items():
                pipe.write(b"M %s %s %s\n" % (mode, oid, quoted(path)))
            pipe.write(b'\nget-mark :1\nls :1 ""\ndone\n')
            pipe.flush()
        except BrokenPipeError:
            pass  # what it said tells more

    git = base.repository.git()
    fast = ("fast-import", "--quiet", "--force", "--date-format=raw")
    _, out, _ = git.at(config=("fastimport.unpackLimit=0",)).feed(*fast, write=write)
    lines = out.decode().split("\n")
    commit = lines[0]
    found = lines[1].split("\t")[0].split(" ") if len(lines) > 1 else []
    tree = found[2] if len(found) == 3 else base.repository.tree_of(commit)
    return commit, tree


def _put(pipe: IO[bytes], base: Base, changes: Changes, plan: CommitPlan, path: bytes, limit: int) -> None:
    found = changes.files[path]
    if stat.S_ISLNK(found.st_mode):
        _inline(pipe, b"120000", path, read_link(changes.root, path))
        return
    with open_regular(changes.root, path, limit) as (descriptor, now):
        if is_hollow(now, _HOLLOW):
            raise RefusedError(f"it has {now.st_size} bytes, and few of them are on disk")
        mode = _mode(base, path, now)
        if path in plan.stored:
            pipe.write(b"M %s %s %s\n" % (mode, plan.stored[path], quoted(path)))
        elif now.st_size <= _CHUNK:
            _inline(pipe, mode, path, read_exactly(descriptor, now.st_size))
        else:
            pipe.write(b"M %s inline %s\ndata %d\n" % (mode, quoted(path), now.st_size))
            _stream(descriptor, now.st_size, pipe)


def _inline(pipe: IO[bytes], mode: bytes, path: bytes, content: bytes) -> None:
    pipe.write(b"M %s inline %s\ndata %d\n" % (mode, quoted(path), len(content)))
    pipe.write(content)
    pipe.write(b"\n")


def _stream(descriptor: int, size: int, pipe: IO[bytes]) -> None:
    """Write that many bytes.

    Raises:
        GitError: the file shrank meanwhile, so that what was announced cannot be kept.
    """
    at = 0
    while at < size:
        part = os.pread(descriptor, min(_CHUNK, size - at), at)
        if not part:
            raise GitError("a file of the slot shrank while it was read: is something still running there?")
        pipe.write(part)
        at += len(part)
    pipe.write(b"\n")


def _mode(base: Base, path: bytes, found: os.stat_result) -> bytes:
    if "core.filemode=false" in base.project.form:
        known = base.entries.files.get(path, (b"100644", b""))[0]
        return known if known == b"100755" else b"100644"
    return b"100755" if found.st_mode & stat.S_IXUSR else b"100644"


def changed_between(repository: Repository, before: str, after: str) -> tuple[Changed, ...]:
    """Changed paths between two commits or trees, without guessing at renames."""
    return compared(repository.git(), before, after)


def compared(git: Git, before: str, after: str) -> tuple[Changed, ...]:
    """The same in any repository."""
    return parse_changed(git.run(*_COMPARE, before, after)) if before != after else ()


_COMPARE = ("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")


def parse_changed(out: bytes) -> tuple[Changed, ...]:
    """Changed paths out of the output of `diff-tree -z --raw --numstat`."""
    statuses: dict[bytes, str] = {}
    lines: dict[bytes, tuple[int | None, int | None]] = {}
    parts = iter(out.split(b"\0"))
    for part in parts:
        if part.startswith(b":"):
            statuses[next(parts)] = part.rpartition(b" ")[2].decode()
        elif part:
            added, deleted, path = part.split(b"\t", 2)
            lines[path] = (None, None) if added == b"-" else (int(added), int(deleted))
    return tuple(
        Changed(os.fsdecode(path), status, *lines.get(path, (None, None))) for path, status in sorted(statuses.items())
    )


def keep_or_drop(base: Base, result: Result, known: Iterable[str]) -> bool:
    """Whether the result holds something that no tree in `known` does; else its ref is deleted."""
    if result.tree not in known:
        return True
    base.repository.git().run("update-ref", "-d", result.ref)
    return False
