"""Which files import which, as numbers: what holds files together, and which of them are hubs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log2

Imports = Mapping[str, Collection[str]]
"""Of a file's path, the paths of the files that it imports."""


@dataclass(frozen=True, slots=True)
class Links:
    """The import graph between the files that are split.

    Attributes:
        imports: pairs (who imports, what is imported), each once, sorted.
        hubs: files with more links than a leaf may have files: they belong to nobody's part.
        neighbours: of each file, those it is linked with, either way; hubs are left out.
        weights: of each of these links; the more links its files have, the less it weighs.
    """

    imports: list[tuple[int, int]]
    hubs: frozenset[int]
    neighbours: list[list[int]]
    weights: list[list[float]]


def links_between(paths: Sequence[str], imports: Imports, most: int) -> Links:
    """The links between `paths`; files with more than `most` are hubs."""
    number = {path: at for at, path in enumerate(paths)}
    pairs = {
        (number[path], number[other])
        for path, others in imports.items()
        if path in number
        for other in others
        if other in number and other != path
    }
    ordered = sorted(pairs)
    either = {pair if pair[0] < pair[1] else pair[::-1] for pair in ordered}
    degree = [0] * len(paths)
    for a, b in either:
        degree[a] += 1
        degree[b] += 1
    hubs = frozenset(at for at, links in enumerate(degree) if links > most)
    neighbours: list[list[int]] = [[] for _ in paths]
    weights: list[list[float]] = [[] for _ in paths]
    both_ways = pairs & {(b, a) for a, b in pairs}
    for a, b in sorted(either):
        if a in hubs or b in hubs:
            continue
        weight = (1 / log2(2 + degree[a]) + 1 / log2(2 + degree[b])) * (2 if (a, b) in both_ways else 1)
        for one, other in ((a, b), (b, a)):
            neighbours[one].append(other)
            weights[one].append(weight)
    return Links(ordered, hubs, neighbours, weights)
