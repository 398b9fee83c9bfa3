"""Hierarchy of a project's files: nodes, their order, metrics; as JSON and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bakeoff.plan.errors import DecomposeError

MEMBERS = ("id", "parent", "children", "depth", "files", "tokens", "hub", "oversize")
"""What of a node stands in the JSON document."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to be split off.

    Attributes:
        path: relative to the project's root, or absolute below a root that is named.
        tokens: what reading it costs; at least 1 is counted.
    """

    path: str
    tokens: int = 1


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the project.

    Attributes:
        id: of a leaf: a digest of its paths; of an inner node: of its children's ids. No content is in it.
        parent: None for the root.
        children: in path order of their first files; a leaf has none.
        depth: 0 for the root.
        files: all of them, sorted; an inner node's are those of its children together.
        tokens: of all its files.
        hub: a leaf of files that so many others import, or that import so many, that they belong to nobody's part.
        oversize: a leaf of one file that alone has more tokens than a leaf may have.
    """

    id: str
    parent: str | None
    children: tuple[str, ...]
    depth: int
    files: tuple[str, ...]
    tokens: int
    hub: bool = False
    oversize: bool = False


@dataclass(frozen=True)
class Hierarchy:
    """A project's files as subplans.

    Attributes:
        root: None where there are no files.
        nodes: leaves first, in the order in which they should be carried out, then inner nodes, the deepest first.
        groups: the leaves in that order; those of one group import each other in a circle, and go together.
        requires: of each leaf, the leaves outside its group whose files its own import.
        metrics: how good the split is; see `metrics.py`.
        why: of a file that is not simply where its directory is, what happened to it, in sentences.
    """

    root: str | None
    nodes: Mapping[str, Node]
    groups: tuple[tuple[str, ...], ...]
    requires: Mapping[str, tuple[str, ...]]
    metrics: Mapping[str, Any]
    why: Callable[[str], tuple[str, ...]] = lambda path: ()

    @property
    def order(self) -> tuple[str, ...]:
        """The leaves in the order in which they should be carried out."""
        return tuple(leaf for group in self.groups for leaf in group)

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The leaves in path order of their first files."""
        return tuple(sorted((self.nodes[leaf] for leaf in self.order), key=lambda leaf: leaf.files))

    @cached_property
    def leaf_of(self) -> Mapping[str, str]:
        """The id of the leaf that each file is in."""
        return {path: leaf for leaf in self.order for path in self.nodes[leaf].files}


def to_json(hierarchy: Hierarchy) -> dict[str, Any]:
    """`root`, `nodes` (leaves first in execution order, the root last), `order` (of the leaves) and `metrics`."""
    nodes = [{name: getattr(node, name) for name in MEMBERS} for node in hierarchy.nodes.values()]
    circles = [group for group in hierarchy.groups if len(group) > 1]
    return {
        "root": hierarchy.root,
        "nodes": nodes,
        "order": hierarchy.order,
        "metrics": {**hierarchy.metrics, "circles": circles},
    }


def from_json(document: Any, source: str) -> Hierarchy:
    """The hierarchy that `to_json` made a document of, as far as a warm start needs it.

    Raises:
        DecomposeError: it is no such document, or its nodes are no tree.
    """
    try:
        nodes = {
            str(node["id"]): Node(
                id=str(node["id"]),
                parent=node["parent"],
                children=tuple(map(str, node["children"])),
                depth=int(node["depth"]),
                files=tuple(map(str, node["files"])),
                tokens=int(node["tokens"]),
                hub=bool(node["hub"]),
                oversize=bool(node["oversize"]),
            )
            for node in document["nodes"]
        }
        root, metrics = document["root"], dict(document["metrics"])
        groups = tuple((str(name),) for name in document["order"])
    except (KeyError, TypeError, ValueError, AttributeError) as failure:
        raise DecomposeError(
            f"{source} is not what `bakeoff plan decompose --json` prints: {type(failure).__name__}: {failure}"
        ) from failure
    _tree(nodes, root, {name for (name,) in groups}, source)
    return Hierarchy(root, nodes, groups, {}, metrics)


def _tree(nodes: Mapping[str, Node], root: Any, leaves: set[str], source: str) -> None:
    """Refuse what is no tree whose leaves are exactly these, with each file in one of them.

    Raises:
        DecomposeError: as said.
    """
    reached: list[str] = []
    todo = [(root, 0)] if root is not None else []
    while todo:
        name, depth = todo.pop()
        if name not in nodes or nodes[name].depth != depth or len(reached) > len(nodes):
            raise DecomposeError(f"{source}: its nodes are no tree: {name!r}")
        reached.append(name)
        todo += [(child, depth + 1) for child in nodes[name].children]
    files = [path for name in leaves & nodes.keys() for path in nodes[name].files]
    if (
        len(reached) != len(nodes)
        or leaves != {node.id for node in nodes.values() if not node.children}
        or len(files) != len(set(files))
    ):
        raise DecomposeError(f"{source}: its nodes are no tree with each file in one leaf")
