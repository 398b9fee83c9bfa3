"""A hierarchy as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.plan.decompose.errors import DecomposeError
from bakeoff.plan.decompose.hierarchy import Hierarchy, Node

MEMBERS = ("id", "parent", "children", "depth", "files", "tokens", "hub", "oversize")


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

    Args:
        document: what was read.
        source: where from, for the message.

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
