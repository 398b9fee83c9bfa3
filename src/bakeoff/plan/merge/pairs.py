"""The pairwise matrix: which results conflict with which, known before any test runs."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bakeoff.plan.merge.trees import Clash, Merged, merge_many
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.snapshot.cone import folders_above
from bakeoff.workspace.snapshot.submodules import MODE


@dataclass(frozen=True, slots=True)
class Touched:
    """Paths that a result changes.

    Attributes:
        paths: all of them.
        folders: those that the paths lie in.
        left: folders out of which it takes files; where all go, git moves what others add there.
    """

    paths: frozenset[bytes]
    folders: frozenset[bytes]
    left: frozenset[bytes]

    def meets(self, other: Touched) -> bool:
        """Whether a merge of the two could conflict."""
        return bool(
            self.paths & other.paths
            or self.paths & other.folders
            or other.paths & self.folders
            or self.left & other.folders
            or other.left & self.folders
        )


def touched(git: Git, base: str, trees: Sequence[str]) -> list[Touched]:
    """Changed paths from the tree `base` to each of `trees`. Blocks."""
    if not trees:
        return []
    data = "".join(f"{base} {tree}\n" for tree in trees).encode()
    out = git.run("diff-tree", "--stdin", "-r", "-z", "--name-status", "--no-renames", data=data)
    found: list[tuple[set[bytes], set[bytes]]] = []
    parts = iter(out.split(b"\0"))
    for part in parts:
        *heads, status = part.split(b"\n")
        found += [(set(), set()) for _ in heads]  # each is a line that names two trees
        if status:
            path = next(parts)
            found[-1][0].add(path)
            if status == b"D":
                found[-1][1].add(path.rpartition(b"/")[0])
    return [Touched(frozenset(paths), folders_above(paths), frozenset(left)) for paths, left in found]


def tried(git: Git, pairs: Sequence[tuple[str, str]], attributes: Mapping[bytes, bytes] | None = None) -> list[Merged]:
    """Merges of each pair, tried. Blocks.

    The trees go with a folder of objects that is deleted here. What clashes name is brought over: of a file that both
    renamed, say, git merges the contents first, and names what that made.
    """
    if not pairs:
        return []
    assert git.directory is not None
    theirs = git.objects or git.directory / "objects"
    with tempfile.TemporaryDirectory(prefix=".trial.", dir=git.directory) as folder:
        trial = git.at(objects=Path(folder), alternates=[theirs, *git.alternates])
        merged = merge_many(trial, pairs, attributes)
        named = dict.fromkeys(
            side.oid
            for found in merged
            for clash in found.clashes
            for side in (clash.base, clash.ours, clash.theirs)
            if side is not None and side.mode != MODE
        )
        data = "".join(f"{oid}\n" for oid in named).encode()
        for line in git.run("cat-file", "--batch-check", data=data).decode().splitlines() if named else ():
            if line.endswith(" missing"):
                content = trial.run("cat-file", "blob", line.partition(" ")[0])
                git.run("hash-object", "-w", "--stdin", data=content)
    return merged


Pairs = dict[tuple[int, int], tuple[Clash, ...]]
"""The clashes of each pair that has any, by the numbers of the two; the lower one is `ours`."""


def conflicting_pairs(
    git: Git,
    commits: Sequence[str],
    changes: Sequence[Touched],
    attributes: Mapping[bytes, bytes] | None = None,
) -> Pairs:
    """Merge each two of `commits` that touch the same places. Blocks. What that makes is not kept."""
    pairs = [
        (first, second)
        for second in range(len(commits))
        for first in range(second)
        if changes[first].meets(changes[second])
    ]
    merged = tried(git, [(commits[first], commits[second]) for first, second in pairs], attributes)
    return {pair: found.clashes for pair, found in zip(pairs, merged, strict=True) if not found.clean}
