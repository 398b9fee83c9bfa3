"""Why a file is in the leaf that it is in."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from bakeoff.plan.decompose.errors import DecomposeError
from bakeoff.plan.decompose.hierarchy import Hierarchy
from bakeoff.plan.decompose.links import Imports
from bakeoff.plan.decompose.outline import SHORT, name_of


def explain(hierarchy: Hierarchy, path: str, imports: Imports) -> Iterator[str]:
    """Sentences about the place of `path`, one a line.

    Args:
        hierarchy: that it is in.
        path: relative to the root.
        imports: what the hierarchy was made with.

    Raises:
        DecomposeError: the file is not in the hierarchy.
    """
    if path not in hierarchy.leaf_of:
        raise DecomposeError(f"{path} is in no subplan: it is not among the files that were split")
    leaf = hierarchy.nodes[hierarchy.leaf_of[path]]
    place = hierarchy.order.index(leaf.id) + 1
    yield f"{path} is in leaf {leaf.id[:SHORT]} ({name_of(leaf)}: {len(leaf.files)} files, {leaf.tokens} tokens)"
    yield f"it comes as number {place} of {len(hierarchy.order)}, at depth {leaf.depth}"
    folder = posixpath.dirname(path)
    mates = [other for other in hierarchy.leaf_of if posixpath.dirname(other) == folder]
    here = sum(hierarchy.leaf_of[other] == leaf.id for other in mates)
    yield f"of the {len(mates)} files of its folder {folder or '.'}, {here} are in this leaf"
    said = hierarchy.why(path)
    yield from said or ("its folder was put there as a whole, or as far as the limits allow",)
    others = {*imports.get(path, ()), *(other for other, targets in imports.items() if path in targets)}
    linked = [hierarchy.leaf_of[other] for other in others if other in hierarchy.leaf_of]
    if linked:
        inside = sum(other == leaf.id for other in linked)
        yield f"of the {len(linked)} files that it imports or that import it, {inside} are in this leaf"
    if leaf.oversize:
        yield "it alone has more tokens than a leaf may have, so it is a leaf of its own"
    for group in hierarchy.groups:
        if leaf.id in group and len(group) > 1:
            yield f"its leaf and {len(group) - 1} others import each other in a circle: they go together"
    needed = hierarchy.requires.get(leaf.id, ())
    if needed:
        names = ", ".join(name_of(hierarchy.nodes[name]) for name in needed[:5])
        yield f"its leaf comes after those it imports from: {names}{', ...' if len(needed) > 5 else ''}"
