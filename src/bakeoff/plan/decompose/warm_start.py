"""Warm start from an earlier hierarchy: what was in it stays where it was, and only what is new finds a place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from bakeoff.plan.decompose.directory_split import Branch, Tree, depth_allowed
from bakeoff.plan.decompose.draft import Draft, Start, narrowed, packed, parents, split_of
from bakeoff.plan.decompose.explanation import Why
from bakeoff.plan.decompose.hierarchy import Hierarchy
from bakeoff.plan.decompose.limits import hard_limits
from bakeoff.plan.decompose.links import Links
from bakeoff.settings.plan import PlanSettings


def warm_start(
    previous: Hierarchy, paths: Sequence[str], tokens: Sequence[int], links: Links, config: PlanSettings, why: Why
) -> Start:
    """The leaves of `previous` with the files that there are now, and leaves of new files beside their neighbours."""
    number = {path: at for at, path in enumerate(paths)}
    draft = Draft()
    changed: set[int] = set()
    at_of: dict[str, int] = {}
    for leaf in previous.leaves:
        here = [number[path] for path in leaf.files if path in number]
        kept = sorted(file for file in here if (file in links.hubs) == leaf.hub)
        why.kept(kept)
        if leaf.hub:
            draft.hubs.append(kept)
            continue
        (at_of[leaf.id],) = draft.add([kept])
        if len(kept) < len(leaf.files):
            changed.add(at_of[leaf.id])
    tree = tree_of(previous, previous.root or "", at_of)
    draft.tree = tree if isinstance(tree, Branch) else Branch([tree])
    new = set(range(len(paths))).difference(*draft.leaves, *draft.hubs)
    limits = hard_limits(config)
    begun = [piece for leaf in draft.hubs for piece in packed(leaf, tokens, limits)]
    draft.hubs = packed(sorted(new & links.hubs), tokens, limits, begun)
    new -= links.hubs
    pieces = _outgrown(draft, paths, tokens, config, why)
    fresh = draft.add(split_of(sorted(new), paths, tokens, config).leaves)
    _place(draft, pieces, fresh)
    tree = narrowed(draft.tree, depth_allowed(len(paths), config), config.max_children)
    draft.tree = tree if isinstance(tree, Branch) else Branch([tree])
    return Start(draft, changed.union(pieces, fresh), new)


def tree_of(previous: Hierarchy, name: str, at_of: Mapping[str, int]) -> Tree:
    """The tree below the node `name`, over the numbers that `at_of` has for leaves; other leaves are left out."""
    if name in at_of:
        return at_of[name]
    inner = [tree_of(previous, child, at_of) for child in previous.nodes[name].children]
    kept = [child for child in inner if isinstance(child, int) or child.children]
    return kept[0] if len(kept) == 1 else Branch(kept)


def _outgrown(
    draft: Draft, paths: Sequence[str], tokens: Sequence[int], config: PlanSettings, why: Why
) -> dict[int, int]:
    """Leaves beyond the limits are split; returns of each new piece the leaf that it was split off from."""
    limits = hard_limits(config)
    pieces: dict[int, int] = {}
    for at in range(len(draft.leaves)):
        leaf = draft.leaves[at]
        if not limits.fit(len(leaf), sum(tokens[file] for file in leaf)):
            why.outgrown(leaf)
            draft.leaves[at], *others = split_of(leaf, paths, tokens, config).leaves
            pieces |= dict.fromkeys(draft.add(others), at)
    return pieces


def _place(draft: Draft, pieces: Mapping[int, int], fresh: Sequence[int]) -> None:
    """Put leaves into the tree: pieces beside what they come from, fresh ones beside their neighbour by path."""
    parent = parents(draft.tree)
    for piece, source in pieces.items():
        parent[source].children.append(piece)
        parent[piece] = parent[source]
    leaf_of = {file: at for at, leaf in enumerate(draft.leaves) for file in leaf if at in parent}
    ordered = sorted(leaf_of)
    for at in fresh:
        place = bisect_left(ordered, draft.leaves[at][0])
        beside = ordered[max(0, place - 1)] if ordered else None
        branch = draft.tree if beside is None else parent[leaf_of[beside]]
        branch.children.append(at)
