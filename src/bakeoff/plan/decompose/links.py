"""Import links between files, as numbers: their weights, and the files that are hubs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

Imports = Mapping[str, Collection[str]]
"""Of a file's path, the paths of the files that it imports."""


@dataclass(frozen=True, slots=True)
class Links:
    """The import graph between the files that are split.

    Attributes:
        imports: pairs (who imports, what is imported), each once, sorted.
        hubs: files with more links than a leaf may have files: they belong to nobody's part.
        neighbours: of each file, those it imports and those that import it, so one may be there twice; no hubs.
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
    ends = {at for pair in imported for at in pair}
    nothing: list[Any] = []  # stands for all files without links, of which there may be very many
    neighbours: list[list[int]] = [[] if at in ends else nothing for at in range(len(paths))]
    for at, other in imported:
        neighbours[at].append(other)
        neighbours[other].append(at)
    degrees = [len(others) for others in neighbours]
    hubs = frozenset(at for at, degree in enumerate(degrees) if degree > most)
    for at in {other for hub in hubs for other in neighbours[hub]} - hubs:
        neighbours[at] = [other for other in neighbours[at] if other not in hubs]
    for hub in hubs:
        neighbours[hub] = nothing
    share = [1 / log2(2 + degree) for degree in degrees]
    weights = [
        [share[at] + share[other] for other in others] if others else nothing for at, others in enumerate(neighbours)
    ]
    return Links(imported, hubs, neighbours, weights)
