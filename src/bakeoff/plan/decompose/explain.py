"""Why a file is in the leaf that it is in."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from bakeoff.plan.decompose.errors import DecomposeError
from bakeoff.plan.decompose.hierarchy import Hierarchy
from bakeoff.plan.decompose.links import Imports
from bakeoff.plan.decompose.outline import SHORT, names_of
from bakeoff.report.words import counted


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
    leaf, names = hierarchy.nodes[hierarchy.leaf_of[path]], names_of(hierarchy)
    place = hierarchy.order.index(leaf.id) + 1
    size = f"{counted(len(leaf.files), 'file')}, {counted(leaf.tokens, 'token')}"
    yield f"{path} is in leaf {leaf.id[:SHORT]} ({names[leaf.id]}: {size})"
    yield f"it comes as number {place} of {len(hierarchy.order)}, at depth {leaf.depth}"
    folder = posixpath.dirname(path)
    mates = [other for other in hierarchy.leaf_of if posixpath.dirname(other) == folder]
    here = sum(hierarchy.leaf_of[other] == leaf.id for other in mates)
    yield f"of its folder {folder or '.'}, {here:,} of {counted(len(mates), 'file')} are in this leaf"
    said = hierarchy.why(path)
    yield from said or ("its folder was put there as a whole, or as far as the limits allow",)
    others = {*imports.get(path, ()), *(other for other, targets in imports.items() if path in targets)}
    linked = [hierarchy.leaf_of[other] for other in others if other in hierarchy.leaf_of]
    if linked:
        inside = sum(other == leaf.id for other in linked)
        yield f"of what it imports or what imports it, {inside:,} of {counted(len(linked), 'file')} are in this leaf"
    if leaf.oversize:
        yield "it alone has more tokens than a leaf may have, so it is a leaf of its own"
    for group in hierarchy.groups:
        if leaf.id in group and len(group) > 1:
            yield f"{len(group)} leaves import each other in a circle, its own among them: they go together"
    needed = hierarchy.requires.get(leaf.id, ())
    if needed:
        first = ", ".join(names[leaf_id] for leaf_id in needed[:5])
        yield f"its leaf comes after those it imports from: {first}{', ...' if len(needed) > 5 else ''}"
