"""Merging of small leaves: those less than half full join another one that has room."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from bakeoff.plan.decompose.limits import Limits
from bakeoff.plan.decompose.links import Links

SMALL = 0.5
"""How full a leaf must be to be left alone."""

NEAR = 1000
"""How many files to either side are looked at, in path order, for one whose leaf has room."""


class Join(NamedTuple):
    """A leaf that went into another one: how full it was, the other's first file, and the weight of their links."""

    files: list[int]
    into: int
    beside: int
    weight: float
    links: float


def repair(
    leaves: list[list[int]], tokens: Sequence[int], links: Links, limits: Limits, only: Collection[int] | None = None
) -> list[Join]:
    """Empty small leaves into others, in place: the best linked one with room, else the nearest by path.

    Args:
        leaves: file numbers, which are in path order; a leaf that joined another one is left empty.
        tokens: of each file.
        links: between the files.
        limits: of a leaf.
        only: numbers of the leaves that may join another one; None for all.
    """
    state = _Leaves(leaves, tokens, links, limits)
    small = [
        at for at in (range(len(leaves)) if only is None else sorted(only)) if leaves[at] and state.weight(at) < SMALL
    ]
    small.sort(key=lambda at: (state.weight(at), at))
    joins = []
    for at in small:
        weight = state.weight(at)
        if not leaves[at] or weight >= SMALL:
            continue
        into, shared = state.best(at)
        if into is not None:
            joins.append(Join(leaves[at], into, leaves[into][0], weight, shared))
            state.join(at, into)
    return joins


class _Leaves:
    def __init__(self, leaves: list[list[int]], tokens: Sequence[int], links: Links, limits: Limits) -> None:
        self.leaves = leaves
        self.links = links
        self.limits = limits
        self.tokens = [sum(tokens[file] for file in leaf) for leaf in leaves]
        self.leaf_of = {file: at for at, leaf in enumerate(leaves) for file in leaf}

    def weight(self, at: int) -> float:
        return self.limits.weight(len(self.leaves[at]), self.tokens[at])

    def room(self, at: int, into: int) -> bool:
        return at != into and self.limits.fit(
            len(self.leaves[at]) + len(self.leaves[into]), self.tokens[at] + self.tokens[into]
        )

    def best(self, at: int) -> tuple[int | None, float]:
        shared: dict[int, float] = {}
        for file in self.leaves[at]:
            for other, weight in zip(self.links.neighbours[file], self.links.weights[file], strict=True):
                leaf = self.leaf_of.get(other, at)
                if leaf != at:
                    shared[leaf] = shared.get(leaf, 0.0) + weight
        for leaf, weight in sorted(shared.items(), key=lambda found: (-found[1], found[0])):
            if self.room(at, leaf):
                return leaf, weight
        return next((leaf for leaf in self.nearest(at) if self.room(at, leaf)), None), 0.0

    def nearest(self, at: int) -> Iterator[int]:
        first, last = self.leaves[at][0], self.leaves[at][-1]
        seen = {at}
        for distance in range(1, NEAR + 1):
            for file in (first - distance, last + distance):
                leaf = self.leaf_of.get(file, at)
                if leaf not in seen:
                    seen.add(leaf)
                    yield leaf

    def join(self, at: int, into: int) -> None:
        for file in self.leaves[at]:
            self.leaf_of[file] = into
        self.leaves[into] = sorted(self.leaves[into] + self.leaves[at])
        self.tokens[into] += self.tokens[at]
        self.leaves[at] = []
        self.tokens[at] = 0
