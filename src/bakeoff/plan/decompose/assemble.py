"""Assembly of nodes out of leaves and the tree over them: empty leaves go, inner nodes with one child go, ids come."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from unicodedata import normalize

from bakeoff.plan.decompose.directory_split import Branch, Tree
from bakeoff.plan.decompose.hierarchy import Node
from bakeoff.plan.decompose.limits import Limits

DIGITS = 26
"""Of an id: 104 bits."""


@dataclass(slots=True)
class Assembled:
    """Nodes by id, children before parents, and the id of each leaf by its number."""

    nodes: dict[str, Node] = field(default_factory=dict)
    leaf_ids: dict[int, str] = field(default_factory=dict)
    root: str | None = None


def leaf_id(paths: Iterable[str]) -> str:
    """A digest of sorted relative paths, the same whether accents are written as one character or two."""
    return _digest("leaf", (path if path.isascii() else normalize("NFC", path) for path in paths))


def _digest(kind: str, parts: Iterable[str]) -> str:
    text = "\0".join((kind, *parts))
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:DIGITS]


def assemble(
    tree: Tree,
    leaves: Sequence[Sequence[int]],
    paths: Sequence[str],
    tokens: Sequence[int],
    limits: Limits,
    hubs: Collection[int],
) -> Assembled:
    """The nodes of `tree`.

    Args:
        tree: its numbers are of `leaves`.
        leaves: file numbers in path order; empty ones become no node.
        paths: of the files.
        tokens: of the files.
        limits: what makes a leaf oversize.
        hubs: the numbers of the leaves that hold hubs.
    """
    found = Assembled()
    top = _pruned(tree, leaves)
    if top is not None:
        found.root = _Assembler(leaves, paths, tokens, limits, hubs, found).node(top, 0).id
        _link(found)
    return found


def _pruned(tree: Tree, leaves: Sequence[Sequence[int]]) -> Tree | None:
    if isinstance(tree, int):
        return tree if leaves[tree] else None
    kept = [inner for child in tree.children if (inner := _pruned(child, leaves)) is not None]
    if len(kept) < 2:
        return kept[0] if kept else None
    return Branch(kept)


@dataclass(slots=True)
class _Assembler:
    leaves: Sequence[Sequence[int]]
    paths: Sequence[str]
    tokens: Sequence[int]
    limits: Limits
    hubs: Collection[int]
    found: Assembled

    def node(self, tree: Tree, depth: int) -> Node:
        node = self.leaf(tree, depth) if isinstance(tree, int) else self.inner(tree, depth)
        self.found.nodes[node.id] = node
        return node

    def leaf(self, number: int, depth: int) -> Node:
        files = tuple(self.paths[file] for file in self.leaves[number])
        tokens = sum(self.tokens[file] for file in self.leaves[number])
        self.found.leaf_ids[number] = name = leaf_id(files)
        return Node(name, None, (), depth, files, tokens, number in self.hubs, tokens > self.limits.tokens)

    def inner(self, tree: Branch, depth: int) -> Node:
        children = sorted((self.node(child, depth + 1) for child in tree.children), key=lambda child: child.files[0])
        ids = tuple(child.id for child in children)
        files = tuple(sorted(path for child in children for path in child.files))
        return Node(_digest("inner", ids), None, ids, depth, files, sum(child.tokens for child in children))


def _link(found: Assembled) -> None:
    """Name each child's parent: an inner node's id is known only after those of its children."""
    from dataclasses import replace

    parent_of = {child: node.id for node in found.nodes.values() for child in node.children}
    for name, node in found.nodes.items():
        if name in parent_of:
            found.nodes[name] = replace(node, parent=parent_of[name])
