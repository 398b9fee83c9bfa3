"""A hierarchy in the making: leaves as lists of file numbers, and the tree over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bakeoff.plan.decompose.directory_split import (
    Branch,
    Split,
    Tree,
    depth_allowed,
    grouped,
    levels_for,
    split_by_directories,
)
from bakeoff.plan.decompose.limits import Limits
from bakeoff.settings.plan import PlanSettings


@dataclass(slots=True)
class Draft:
    """Leaves and the tree over them.

    Attributes:
        leaves: file numbers, sorted; a leaf may be empty.
        hubs: leaves of hubs; they are neither in `leaves` nor in `tree` before `with_hubs`.
    """

    leaves: list[list[int]] = field(default_factory=list)
    tree: Branch = field(default_factory=lambda: Branch([]))
    hubs: list[list[int]] = field(default_factory=list)

    def add(self, leaves: Iterable[list[int]]) -> list[int]:
        """Take leaves in; returns their numbers."""
        first = len(self.leaves)
        self.leaves.extend(leaves)
        return list(range(first, len(self.leaves)))

    def with_hubs(self, config: PlanSettings, depth: int) -> list[int]:
        """Put the leaves of hubs at the root, several in a branch of their own; returns their numbers."""
        numbers = self.add(self.hubs)
        hubs: list[Tree] = [*numbers]
        if len(hubs) > 1 and depth > 1:
            hubs = [grouped(hubs, min(levels_for(len(hubs), config.max_children), depth - 2), config.max_children)]
        crowded = len(self.tree.children) + len(hubs) > config.max_children
        others = [self.tree] if hubs and crowded and _height(self.tree) < depth else self.tree.children
        self.tree = Branch([*others, *hubs])
        return numbers


class Start(NamedTuple):
    """Draft that merging of small leaves and refinement begin with.

    Attributes:
        draft: all leaves.
        changed: leaves that may join another one; None for all.
        new: files that may move; None for all.
    """

    draft: Draft
    changed: set[int] | None = None
    new: set[int] | None = None


def split_of(files: Sequence[int], paths: Sequence[str], tokens: Sequence[int], config: PlanSettings) -> Split:
    """Some of all files split by directories, in numbers of all."""
    if not files:
        return Split([], Branch([]))
    split = split_by_directories(
        [paths[file] for file in files],
        [tokens[file] for file in files],
        config,
        depth_allowed(len(paths), config),
    )
    split.leaves = [[files[at] for at in leaf] for leaf in split.leaves]
    return split


def packed(
    files: Iterable[int], tokens: Sequence[int], limits: Limits, begun: Iterable[list[int]] = ()
) -> list[list[int]]:
    """Files in path order, as many to a leaf as fit; leaves that were begun get what they have room for."""
    found = [list(leaf) for leaf in begun]
    total = [sum(tokens[file] for file in leaf) for leaf in found]
    for file in files:
        at = next((at for at, leaf in enumerate(found) if limits.fit(len(leaf) + 1, total[at] + tokens[file])), None)
        if at is None:
            at = len(found)
            found.append([])
            total.append(0)
        found[at].append(file)
        total[at] += tokens[file]
    return [sorted(leaf) for leaf in found]


def parents(tree: Branch) -> dict[int, Branch]:
    """The branch that each leaf is in."""
    found = {}
    todo = [tree]
    while todo:
        branch = todo.pop()
        for child in branch.children:
            if isinstance(child, int):
                found[child] = branch
            else:
                todo.append(child)
    return found


def narrowed(tree: Tree, room: int, most: int) -> Tree:
    """The same with branches of more than `most` children grouped, as far as `room` levels below it allow."""
    if isinstance(tree, int):
        return tree
    children = [narrowed(child, room - 1, most) for child in tree.children]
    spare = room - 1 - max((_height(child) for child in children), default=0)
    return grouped(children, max(0, min(levels_for(len(children), most), spare)), most)


def _height(tree: Tree) -> int:
    return 0 if isinstance(tree, int) else 1 + max((_height(child) for child in tree.children), default=0)
