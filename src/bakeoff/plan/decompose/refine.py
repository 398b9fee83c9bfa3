"""Refinement: single files move to the leaf that their imports draw them to, in passes as in Fiduccia-Mattheyses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from bakeoff.plan.decompose.limits import Limits
from bakeoff.plan.decompose.links import Links

PASSES = 4
TRIES = 2_000
"""Searches for an exchange in one split: real projects need fewer, imports without any order would ask for no end."""

LEAST = 1e-9
"""Of a gain; below it is rounding."""

COMPANY = 4
"""Files of the same directory beyond this number draw a file no more."""


class Move(NamedTuple):
    """A file that went to another leaf.

    Attributes:
        beside: a file that it is linked with there.
        here: the weight of its links where it was.
        there: the same where it is now.
        made_room_for: the file that it was exchanged for, when it was drawn nowhere itself.
    """

    file: int
    beside: int
    here: float
    there: float
    made_room_for: int | None = None


def refine(
    leaves: list[list[int]],
    paths: Sequence[str],
    tokens: Sequence[int],
    links: Links,
    limits: Limits,
    *,
    cohesion: float,
    keep: int,
    only: Collection[int] | None = None,
) -> list[Move]:
    """Move files to where most of their imports are, in place, while every leaf stays within its limits.

    Args:
        leaves: file numbers.
        paths: of the files, sorted.
        tokens: of the files.
        links: between the files.
        limits: of a leaf.
        cohesion: what each file of the same directory counts.
        keep: files that a leaf is left with at least.
        only: the files that may move; None for all.
    """
    if not any(links.neighbours):
        return []
    state = _State(leaves, paths, tokens, links, limits, cohesion, keep)
    may = range(len(paths)) if only is None else sorted(only)
    movable = {file for file in may if links.neighbours[file]}
    todo = movable
    moves: list[Move] = []
    for _ in range(PASSES):
        before = len(moves)
        for file in sorted(todo):
            moves += state.improve(file, movable)
        stirred = {move.file for move in moves[before:]}
        todo = movable & stirred.union(*(links.neighbours[file] for file in stirred))
        if not todo:
            break
    for leaf in leaves:
        leaf.clear()
    for file, at in enumerate(state.leaf_of):
        if at >= 0:
            leaves[at].append(file)
    return moves


class _State:
    def __init__(
        self,
        leaves: Sequence[Sequence[int]],
        paths: Sequence[str],
        tokens: Sequence[int],
        links: Links,
        limits: Limits,
        cohesion: float,
        keep: int,
    ) -> None:
        self.leaf_of = [-1] * len(paths)  # as it stays for hubs, which are in none of these leaves
        for at, leaf in enumerate(leaves):
            for file in leaf:
                self.leaf_of[file] = at
        self.members = [set(leaf) for leaf in leaves]
        folders: dict[str, int] = {}
        # A directory's number is a multiple of the count of leaves: with a leaf's added to it, it stands for both.
        self.directory = [len(leaves) * folders.setdefault(path[: path.rfind("/") + 1], len(folders)) for path in paths]
        self.company = Counter(at + self.directory[file] for file, at in enumerate(self.leaf_of) if at >= 0)
        self.tokens = tokens
        self.total = [sum(tokens[file] for file in leaf) for leaf in leaves]
        self.links = links
        self.limits = limits
        self.cohesion = cohesion
        self.keep = keep
        self.tries = TRIES

    def improve(self, file: int, movable: Collection[int]) -> list[Move]:
        """Move a file to the best leaf with room, or exchange it for one of the best leaf without."""
        source = self.leaf_of[file]
        drawn: dict[int, float] = {}
        for other, weight in zip(self.links.neighbours[file], self.links.weights[file], strict=True):
            at = self.leaf_of[other]
            drawn[at] = drawn.get(at, 0.0) + weight
        here = drawn.pop(source, 0.0)
        stay = here + self.cohesion * min(COMPANY, self.company[source + self.directory[file]] - 1)
        least = stay - self.cohesion * COMPANY
        if max(drawn.values(), default=least) <= least:
            return []
        gains = [(there + self.mates(file, at) - stay, at) for at, there in drawn.items() if there > least]
        for gain, at in sorted(gains, key=lambda found: (-found[0], found[1])):
            if gain <= LEAST:
                break
            if self.has_room(file, at):
                return [self.move(file, at, here, drawn[at])]
            if self.tries == 0:
                continue
            self.tries -= 1
            way = self.best_exchange(file, at, gain, movable)
            if way is not None:
                first = self.move(file, at, here, drawn[at])
                return [first, self.move(way, source)._replace(made_room_for=file)]
        return []

    def has_room(self, file: int, at: int) -> bool:
        """Whether a file may leave its leaf for another one."""
        return len(self.members[self.leaf_of[file]]) > self.keep and self.limits.fit(
            len(self.members[at]) + 1, self.total[at] + self.tokens[file]
        )

    def mates(self, file: int, at: int) -> float:
        """Weight of the files of the same directory in another leaf."""
        return self.cohesion * min(COMPANY, self.company.get(at + self.directory[file], 0))

    def best_exchange(self, file: int, at: int, gain: float, movable: Collection[int]) -> int | None:
        """The file of a full leaf that is best exchanged for `file`, which gains so much; None for no gain in all."""
        source = self.leaf_of[file]
        least = self.total[at] + self.tokens[file] - self.limits.tokens
        most = self.limits.tokens - self.total[source] + self.tokens[file]
        best, found = LEAST, None
        for other in sorted(self.members[at]):
            if other not in movable or not least <= self.tokens[other] <= most:
                continue
            mates = self.cohesion * min(COMPANY, self.company[at + self.directory[other]] - 1)
            both = gain + self.mates(other, source) - mates
            if self.directory[other] == self.directory[file]:
                both -= 2 * self.cohesion  # each was counted as company for the other, and they part again
            for near, weight in zip(self.links.neighbours[other], self.links.weights[other], strict=True):
                leaf = self.leaf_of[near]
                if near == file:
                    both -= weight  # `gain` has it, but they part again
                elif leaf == source:
                    both += weight
                elif leaf == at:
                    both -= weight
            if both > best:
                best, found = both, other
        return found

    def move(self, file: int, at: int, here: float = 0.0, there: float = 0.0) -> Move:
        """Put a file into another leaf."""
        source = self.leaf_of[file]
        beside = next((other for other in self.links.neighbours[file] if self.leaf_of[other] == at), file)
        self.leaf_of[file] = at
        for leaf, change in ((source, -1), (at, 1)):
            self.company[leaf + self.directory[file]] += change
            self.total[leaf] += change * self.tokens[file]
        self.members[source].discard(file)
        self.members[at].add(file)
        return Move(file, beside, here, there)
