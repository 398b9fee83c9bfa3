"""A hierarchy as a tree of lines, and the names that people know its nodes by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from bakeoff.plan.decompose.hierarchy import Hierarchy, Node
from bakeoff.plan.decompose.limits import Limits

SHORT = 8
"""Digits of an id that people see."""


@dataclass(frozen=True, slots=True)
class Line:
    """A node among others.

    Attributes:
        node: it.
        name: where its files are.
        place: of a leaf, when it comes, from 1; None for an inner node.
        circle: of a leaf, the number of its group when others are in it, from 1.
        fill: of a leaf, how full it is.
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
    todo = [hierarchy.root] if hierarchy.root is not None else []
    while todo:
        node = hierarchy.nodes[todo.pop()]
        fill = None if node.children else limits.weight(len(node.files), node.tokens)
        yield Line(node, name_of(node), places.get(node.id), circle_of.get(node.id), fill)
        todo.extend(reversed(node.children))


def name_of(node: Node) -> str:
    """The deepest folder that has more than half of a node's files, or the file, where it is one."""
    if len(node.files) == 1:
        return node.files[0]
    if node.hub:
        return "hubs"
    counts = Counter(folder for path in node.files for folder in accumulate(path.split("/")[:-1], "{}/{}".format))
    most = [folder for folder, count in counts.items() if 2 * count > len(node.files)]
    folder = max(most, key=len, default="")
    others = "" if counts[folder] == len(node.files) or not folder else " and others"
    return f"{folder or '.'}{'/' * bool(folder)}{others}"
