"""What a split is: nodes, each with its files, its parent and its children, and the order of the leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any


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
