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
    imported: list[tuple[int, int]] = []
    for at, path in enumerate(paths):
        others = imports.get(path)
        if others:
            known = {number[other] for other in others if other in number}
            imported += [(at, other) for other in sorted(known) if other != at]
    ways: dict[tuple[int, int], int] = {}  # in how many directions a link goes
    for pair in imported:
        link = pair if pair[0] < pair[1] else pair[::-1]
        ways[link] = ways.get(link, 0) + 1
    degree = [0] * len(paths)
    for a, b in ways:
        degree[a] += 1
        degree[b] += 1
    hubs = frozenset(at for at, links in enumerate(degree) if links > most)
    share = [1 / log2(2 + links) for links in range(most + 1)]
    neighbours: list[list[int]] = [[] for _ in paths]
    weights: list[list[float]] = [[] for _ in paths]
    for (a, b), count in ways.items():
        if degree[a] > most or degree[b] > most:
            continue
        weight = (share[degree[a]] + share[degree[b]]) * count
        neighbours[a].append(b)
        neighbours[b].append(a)
        weights[a].append(weight)
        weights[b].append(weight)
    return Links(imported, hubs, neighbours, weights)
