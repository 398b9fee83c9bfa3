"""Branches of a compound statement (if/elif/else, try/except): what stands under one condition stays under it."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.plan.merge.rules.node import Node, UndecidedError

OTHERWISE = "branch else"
"""The label of the branch that is taken when no condition holds."""

_COMMON = frozenset({OTHERWISE, "branch try", "branch finally", "branch except", ""})


def conditions(branches: Sequence[Node]) -> set[str]:
    """The labels of the branches that tell one compound statement from another."""
    return {node.label for node in branches if node.kind == "clause"} - _COMMON


def check_branches(base: Sequence[Node], ours: Sequence[Node], theirs: Sequence[Node]) -> None:
    """Refuse to merge branches of which one side changed the conditions, if that touches what the other one edited.

    Branches are known by their conditions (labels). One side alone may add some or take some out, in whatever place;
    those that the other one edited must be there still, in the order in which they were.

    Raises:
        UndecidedError: it does.
    """
    old, *sides = ([node.label for node in row] for row in (base, ours, theirs))
    if old == sides[0] == sides[1]:
        return
    if any(len(set(row)) < len(row) for row in (old, *sides)) or old not in sides:
        raise UndecidedError
    was = {node.label: node.meaning for node in base}
    for side, other in ((sides[0], theirs), (sides[1], ours)):
        if side == old:
            continue
        edited = {node.label for node in other if was[node.label] != node.meaning}
        kept = [label for label in old if label in side]
        if kept != [label for label in side if label in old] or not edited <= set(side):
            raise UndecidedError
        if OTHERWISE in edited and kept != old:
            raise UndecidedError
