"""The pairwise matrix: which results conflict with which, known before any test runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.plan.merge.trees import Clash, merge_many
from bakeoff.workspace.git import Git


@dataclass(frozen=True, slots=True)
class Touched:
    """What a result changes.

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
    """What leads from the tree `base` to each of `trees`. Blocks."""
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
    return [Touched(frozenset(paths), _above(paths), frozenset(left)) for paths, left in found]


def _above(paths: set[bytes]) -> frozenset[bytes]:
    found: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition(b"/")[0]
    return frozenset(found)


Pairs = dict[tuple[int, int], tuple[Clash, ...]]
"""The clashes of each pair that has any, by the numbers of the two; the lower one is `ours`."""


def conflicting_pairs(git: Git, commits: Sequence[str], changes: Sequence[Touched]) -> Pairs:
    """Merge each two of `commits` that touch the same places. Blocks.

    Passes on UnrelatedError: two have no history in common.
    """
    pairs = [
        (first, second)
        for second in range(len(commits))
        for first in range(second)
        if changes[first].meets(changes[second])
    ]
    merged = merge_many(git, [(commits[first], commits[second]) for first, second in pairs])
    return {pair: found.clashes for pair, found in zip(pairs, merged, strict=True) if not found.clean}
