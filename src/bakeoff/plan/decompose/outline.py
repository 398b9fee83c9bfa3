"""A hierarchy as a tree of lines, and the names that people know its nodes by."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import accumulate, count

from bakeoff.plan.decompose.hierarchy import Hierarchy, Node
from bakeoff.plan.decompose.limits import Limits

SHORT = 8
"""Digits of an id that people see."""


@dataclass(frozen=True, slots=True)
class Line:
    """A node among others.

    Attributes:
        name: where its files are.
        place: of a leaf, when it comes, from 1; None for an inner node.
        circle: of a leaf, the number of its group when others are in it, from 1.
    """

    node: Node
    name: str
    place: int | None
    circle: int | None
    fill: float | None


def lines(hierarchy: Hierarchy, limits: Limits) -> Iterator[Line]:
    """All nodes, parents before children."""
    places = {name: number for number, name in enumerate(hierarchy.order, 1)}
    circles = [group for group in hierarchy.groups if len(group) > 1]
    circle_of = {name: number for number, group in enumerate(circles, 1) for name in group}
    names = names_of(hierarchy)
    todo = [hierarchy.root] if hierarchy.root is not None else []
    while todo:
        node = hierarchy.nodes[todo.pop()]
        fill = None if node.children else limits.weight(len(node.files), node.tokens)
        yield Line(node, names[node.id], places.get(node.id), circle_of.get(node.id), fill)
        todo.extend(reversed(node.children))


def names_of(hierarchy: Hierarchy) -> dict[str, str]:
    """A name for each node, by its id, that says what is in it; no two are the same.

    It is the deepest folder that has more than half of its files, or the file, where it is one. Where others are
    mostly of the same folder, or it is of none, its first and its last file are named.
    """
    nodes = sorted(hierarchy.nodes.values(), key=lambda node: (node.depth, node.files))
    same: dict[str, list[Node]] = {}
    for node in nodes:
        same.setdefault(_folder(node), []).append(node)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for folder, group in same.items():
        # The uppermost keeps the name where the others are parts of it.
        plain = bool(folder) and all(group[0].id in _above(hierarchy, node) for node in group[1:])
        for node in group:
            name = folder if plain and node is group[0] else f"{folder} ({_range(node)})" if folder else _range(node)
            found[node.id] = name = _once(name, taken)
            taken.add(name)
    return found


def _above(hierarchy: Hierarchy, node: Node) -> list[str]:
    """The nodes that it is a part of."""
    above, at = [], node.parent
    while at is not None:
        above.append(at)
        at = hierarchy.nodes[at].parent
    return above


def _folder(node: Node) -> str:
    """The folder of most of its files, or its one file, or `hubs`; empty where it has no such folder."""
    if len(node.files) == 1:
        return node.files[0]
    if node.hub:
        return "hubs"
    counts = Counter(folder for path in node.files for folder in accumulate(path.split("/")[:-1], "{}/{}".format))
    most = [folder for folder, count in counts.items() if 2 * count > len(node.files)]
    folder = max(most, key=len, default="")
    if not folder:
        return "all files" if node.parent is None else ""
    return f"{folder}/{'' if counts[folder] == len(node.files) else ' and others'}"


def _range(node: Node) -> str:
    """Its first and its last file, without the folders that both are in."""
    first, last = node.files[0], node.files[-1]
    shared = os.path.commonpath([os.path.dirname(first), os.path.dirname(last)]) if "/" in first and "/" in last else ""
    start = len(shared) + 1 if shared else 0
    return f"{first[start:]} to {last[start:]}" if first != last else first


def _once(name: str, taken: Collection[str]) -> str:
    return next(one for number in count(1) if (one := name if number == 1 else f"{name} {number}") not in taken)
