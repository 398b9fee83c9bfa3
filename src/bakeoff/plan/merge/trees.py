"""Merges by `git merge-tree`: commits in, a tree out, or what is in conflict; without work tree and index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.workspace.errors import GitError
from bakeoff.workspace.filters.attributes import merging_by
from bakeoff.workspace.repository.git import Git, check_git
from bakeoff.workspace.snapshot.submodules import MODE

BATCHES = (2, 39)
"""The first version with `merge-tree --stdin`; older ones are started once for each merge."""


UNKNOWN = "unknown"
"""The kind of a clash of which git does not say where it is."""

BEYOND = "git cannot merge it"
"""The kind of the one clash of two commits at which git dies; it is of no path."""

UNRELATED = "unrelated histories"
"""The kind of the one clash of two commits that have no history in common; it is of no path."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a merge at a path: `mode` as in `100644`, and the object's id."""

    mode: str
    oid: str


@dataclass(frozen=True, slots=True)
class Clash:
    """One path that git could not merge.

    Attributes:
        path: as it stands in the merged tree; for a file that had to make room for a folder another name.
        kind: git's word for it: `contents`, `add/add`, `modify/delete`, `rename/rename`, `binary`, ...
        base, ours, theirs: what the three trees have there; None for nothing.
    """

    path: str
    kind: str
    base: Side | None = None
    ours: Side | None = None
    theirs: Side | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """One merge.

    Attributes:
        tree: the merged tree. Where there are clashes it holds conflict markers, and must not be committed; empty
            where there is no history in common.
        clashes: what git could not merge.
    """

    tree: str
    clashes: tuple[Clash, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether git merged all of it."""
        return not self.clashes


def merge_many(
    git: Git, pairs: Sequence[tuple[str, str]], attributes: Mapping[bytes, bytes] | None = None
) -> list[Merged]:
    """Merge each pair of commits; the base is their merge base, and it is a clash to have none. Blocks.

    Args:
        git: of bakeoff's own repository.
        pairs: commits.
        attributes: the texts of the `.gitattributes` that say how files are merged, by their paths; none by default.

    Passes on GitError: an object is missing.
    """
    if not pairs:
        return []
    with merging_by(git, attributes) as merging:
        return _each_merged(merging, pairs)


def _each_merged(git: Git, pairs: Sequence[tuple[str, str]]) -> list[Merged]:
    try:
        return _merge_many(git, pairs)
    except GitError as failure:
        if _died(failure):  # at one of them
            alone = len(pairs) == 1
            return [Merged("", (Clash(".", BEYOND),))] if alone else [_each_merged(git, [pair])[0] for pair in pairs]
        if "unrelated histories" not in str(failure):
            raise
    # Git ends at the first such pair; it is asked again for the others.
    related = [pair for pair in pairs if git.both("merge-base", *pair, statuses=(0, 1))[0] == 0]
    merged = dict(zip(related, _merge_many(git, related), strict=True))
    return [merged.get(pair) or Merged("", (Clash(".", UNRELATED),)) for pair in pairs]


def _died(failure: GitError) -> bool:
    """Whether a signal ended git, as where folders nest so deeply that its stack overflows."""
    return failure.status is not None and failure.status < 0


def _merge_many(git: Git, pairs: Sequence[tuple[str, str]]) -> list[Merged]:
    if pairs and _version() >= BATCHES:
        data = "".join(f"{ours} {theirs}\n" for ours, theirs in pairs).encode()
        return list(_records(git.run("merge-tree", "--write-tree", "--stdin", data=data)))
    return [_alone(git, ours, theirs) for ours, theirs in pairs]


def _version() -> tuple[int, int]:
    major, minor, *_ = check_git().split(".")
    return int(major), int(minor)


def _alone(git: Git, ours: str, theirs: str) -> Merged:
    """One merge.

    Raises:
        GitError: something is no commit; git then ends with status 1, as for conflicts, but names no tree.
    """
    status, out, said = git.both("merge-tree", "--write-tree", "-z", ours, theirs, statuses=(0, 1))
    parts = iter(out.split(b"\0"))
    tree = next(parts, b"").decode()
    if not tree:
        raise GitError(f"git merge-tree {ours[:12]} {theirs[:12]} failed: {said.decode(errors='replace').strip()}", 1)
    return _merged(tree, parts) if status else Merged(tree)


def _records(out: bytes) -> Iterator[Merged]:
    """Merges that `merge-tree --stdin` printed: of each pair `1` (clean) or `0`, the tree, clashing paths, messages."""
    parts = iter(out.split(b"\0"))
    for status in parts:
        if not status.strip():
            continue
        tree = next(parts).decode()
        if status == b"1":
            next(parts)
            yield Merged(tree)
        else:
            yield _merged(tree, parts)


@dataclass(slots=True)
class _Found:
    sides: dict[int, Side] = field(default_factory=dict)
    kind: str = ""


def _merged(tree: str, parts: Iterator[bytes]) -> Merged:
    found: dict[str, _Found] = {}
    for entry in parts:
        if not entry:
            break
        facts, _, path = entry.partition(b"\t")
        mode, oid, stage = facts.decode().split(" ")
        found.setdefault(os.fsdecode(path), _Found()).sides[int(stage)] = Side(mode, oid)
    for count in parts:
        if not count.isdigit():  # the end; about submodules some versions print advice there, without an end of its own
            break
        paths = [os.fsdecode(next(parts)) for _ in range(int(count))]
        kind = next(parts).decode()
        next(parts)
        if kind.startswith("CONFLICT"):
            for name in paths:
                # One that only the message knows is what stood there before a rename.
                clash = found.setdefault(name, _Found())
                clash.kind = clash.kind or kind.partition("(")[2].rstrip(")")
    # Without a path that clashes it is a conflict all the same.
    return Merged(tree, tuple(_clash(path, one) for path, one in found.items()) or (Clash(".", UNKNOWN),))


def _clash(path: str, found: _Found) -> Clash:
    base, ours, theirs = (found.sides.get(stage) for stage in (1, 2, 3))
    kind = found.kind or "contents"
    if any(side is not None and side.mode == MODE for side in (base, ours, theirs)):
        kind = "submodule"
    if kind == "contents" and base is None and ours and theirs:
        kind = "add/add"
    return Clash(path, kind, base, ours, theirs)
