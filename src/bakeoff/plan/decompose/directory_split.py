"""Split by directories: each becomes a node, a leaf, or a part of a leaf it shares with its neighbours.

Sorted paths of one directory stand side by side, so a directory is a stretch of the sorted list; no tree is built for
it. Chains of directories with nothing else in them cost no level, and neither does a directory that has nearly all of
what its parent has: it is replaced by what is in it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import ceil, log2

from bakeoff.plan.decompose.limits import Limits, aimed_at, hard_limits
from bakeoff.settings.plan import PlanSettings

PROGRESS = 0.8
"""A directory with more than this part of its parent's weight is no step forward."""


@dataclass(slots=True)
class Branch:
    """An inner node: other inner nodes, and numbers of leaves."""

    children: list[Branch | int]


Tree = Branch | int


@dataclass(frozen=True, slots=True)
class Directory:
    """A stretch of the sorted paths that has `prefix` characters in common, up to a slash."""

    start: int
    stop: int
    prefix: int


@dataclass(slots=True)
class Split:
    """Leaves as lists of file numbers, and the tree over them."""

    leaves: list[list[int]] = field(default_factory=list)
    tree: Tree = 0


def depth_allowed(files: int, config: PlanSettings) -> int:
    """Depth that so many files may be split to: a level for each doubling beyond ten, so small projects stay flat."""
    return min(config.max_depth, max(2, int(log2(max(files, 10) / 10))))


def split_by_directories(paths: Sequence[str], tokens: Sequence[int], config: PlanSettings, depth: int) -> Split:
    """Leaves within the limits, and the tree over them.

    Args:
        paths: sorted.
        tokens: of each path.
        config: the limits.
        depth: levels that may be used.
    """
    splitter = _Splitter(paths, tokens, config, depth)
    splitter.split.tree = splitter.node(splitter.within(0, len(paths)), 0)
    return splitter.split


class _Splitter:
    def __init__(self, paths: Sequence[str], tokens: Sequence[int], config: PlanSettings, depth: int) -> None:
        self.paths = paths
        self.before = [0, *accumulate(tokens)]
        self.config = config
        self.depth = depth
        self.aim = aimed_at(config)
        self.split = Split()

    def within(self, start: int, stop: int) -> Directory:
        """The deepest directory that has these files."""
        first, last = self.paths[start], self.paths[stop - 1]
        same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        return Directory(start, stop, first.rfind("/", 0, same) + 1)

    def size(self, part: Directory) -> tuple[int, int]:
        return part.stop - part.start, self.before[part.stop] - self.before[part.start]

    def node(self, part: Directory, depth: int) -> Tree:
        if self.aim.fit(*self.size(part)):
            return self.leaf(list(range(part.start, part.stop)))
        room = self.depth - depth
        parts = self.parts(part, PROGRESS, self.aim)
        grouping = levels_for(len(parts), self.config.max_children)
        if room < grouping + 2 and any(isinstance(inner, Directory) for inner in parts):
            parts = self.parts(part, 0.0, self.last_aim(part))
            grouping = levels_for(len(parts), self.config.max_children)
        grouping = min(grouping, room - 1)
        below = depth + grouping + 1
        found = [self.node(inner, below) if isinstance(inner, Directory) else self.leaf(inner) for inner in parts]
        return grouped(found, grouping, self.config.max_children)

    def leaf(self, files: list[int]) -> int:
        self.split.leaves.append(sorted(files))
        return len(self.split.leaves) - 1

    def last_aim(self, part: Directory) -> Limits:
        """Limits of leaves on the last level: what they should, or more, so that one node has not too many."""
        hard = hard_limits(self.config)
        even = ceil(self.size(part)[0] / self.config.max_children)
        return Limits(min(hard.files, max(self.aim.files, even)), hard.tokens)

    def parts(self, whole: Directory, progress: float, aim: Limits) -> list[Directory | list[int]]:
        """Parts that `whole` is split into: directories that are split further, and leaves packed in path order."""
        most = progress * aim.weight(*self.size(whole))
        found: list[Directory | list[int]] = []
        packed: list[int] = []
        files = tokens = 0
        todo = [whole]
        while todo:
            part = todo.pop()
            size = self.size(part)
            if part is not whole and aim.fit(*size):
                pieces = [part]
            elif part is not whole and aim.weight(*size) < most:
                found.append(part)
                continue
            else:
                pieces, inner = self.inside(part)
                todo.extend(reversed(inner))
            for piece in pieces:
                more = self.size(piece)
                if packed and not aim.fit(files + more[0], tokens + more[1]):
                    found.append(packed)
                    packed, files, tokens = [], 0, 0
                packed.extend(range(piece.start, piece.stop))
                files, tokens = files + more[0], tokens + more[1]
        return [*found, packed] if packed else found

    def inside(self, part: Directory) -> tuple[list[Directory], list[Directory]]:
        """The files right in a directory, each as a stretch of one, and the directories in it."""
        own: list[Directory] = []
        inner: list[Directory] = []
        at = part.start
        while at < part.stop:
            path = self.paths[at]
            slash = path.find("/", part.prefix)
            if slash < 0:
                own.append(Directory(at, at + 1, part.prefix))
                at += 1
                continue
            stop = bisect_left(self.paths, path[:slash] + "0", at, part.stop)  # "0" comes right after "/"
            inner.append(self.within(at, stop))
            at = stop
        return own, inner


def levels_for(count: int, most: int) -> int:
    """Levels of groups that `count` children need so that no node has more than `most`."""
    levels = 0
    while count > most:
        count = ceil(count / most)
        levels += 1
    return levels


def grouped(children: list[Tree], levels: int, most: int) -> Tree:
    """Neighbours put together in groups of nearly equal size, so many levels of them."""
    for _ in range(levels):
        count = max(ceil(len(children) / most), 1)
        edges = [len(children) * number // count for number in range(count + 1)]
        children = [Branch(children[start:stop]) for start, stop in pairwise(edges)]
    return children[0] if len(children) == 1 else Branch(children)
