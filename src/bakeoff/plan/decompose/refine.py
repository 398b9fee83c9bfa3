"""Moving single files to the leaf that their imports draw them to, by the passes of Fiduccia and Mattheyses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from bakeoff.plan.decompose.limits import Limits
from bakeoff.plan.decompose.links import Links

PASSES = 4
COMPANY = 4
"""Files of the same directory beyond this number draw a file no more."""


class Move(NamedTuple):
    """A file that went to another leaf, a file that it knows there, and the weight of its imports in both."""

    file: int
    source: int
    target: int
    beside: int
    here: float
    there: float


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
    leaf_of = {file: at for at, leaf in enumerate(leaves) for file in leaf}
    directory = [path[: path.rfind("/") + 1] for path in paths]
    company = Counter((at, directory[file]) for file, at in leaf_of.items())
    count = [len(leaf) for leaf in leaves]
    total = [sum(tokens[file] for file in leaf) for leaf in leaves]
    may = range(len(paths)) if only is None else sorted(only)
    movable = [file for file in may if links.neighbours[file] and file in leaf_of]
    moves: list[Move] = []
    for _ in range(PASSES):
        before = len(moves)
        for file in movable:
            source = leaf_of[file]
            if count[source] <= keep:
                continue
            drawn: dict[int, float] = {}
            for other, weight in zip(links.neighbours[file], links.weights[file], strict=True):
                at = leaf_of[other]
                drawn[at] = drawn.get(at, 0.0) + weight
            here = drawn.pop(source, 0.0)
            if not drawn:
                continue
            mates = cohesion * min(COMPANY, company[source, directory[file]] - 1)
            best, target = 1e-9, -1
            for at, there in drawn.items():
                gain = there - here + cohesion * min(COMPANY, company[at, directory[file]]) - mates
                if (gain > best or (gain == best and at < target)) and limits.fit(
                    count[at] + 1, total[at] + tokens[file]
                ):
                    best, target = gain, at
            if target < 0:
                continue
            beside = next(other for other in links.neighbours[file] if leaf_of[other] == target)
            moves.append(Move(file, source, target, beside, here, drawn[target]))
            leaf_of[file] = target
            for at, change in ((source, -1), (target, 1)):
                company[at, directory[file]] += change
                count[at] += change
                total[at] += change * tokens[file]
        if len(moves) == before:
            break
    for leaf in leaves:
        leaf.clear()
    for file, at in sorted(leaf_of.items()):
        leaves[at].append(file)
    return moves
