"""Explanation of a split: why a file is in its leaf, in sentences for people."""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from bakeoff.plan.decompose.hierarchy import Hierarchy
from bakeoff.plan.decompose.links import Imports, Links
from bakeoff.plan.decompose.merge_small import Join
from bakeoff.plan.decompose.outline import SHORT, names_of
from bakeoff.plan.decompose.refine import Move
from bakeoff.plan.errors import DecomposeError
from bakeoff.report.words import counted


class Why:
    """Record of what moved files while they were split; called with a path it tells of that file."""

    def __init__(self, paths: Sequence[str], links: Links, most: int) -> None:
        self._paths = paths
        self._links = links
        self._most = most
        self._kept: set[int] = set()
        self._outgrown: set[int] = set()
        self._joins: Sequence[Join] = ()
        self._moves: dict[int, Move] = {}

    def kept(self, files: Iterable[int]) -> None:
        """These are where the previous hierarchy had them."""
        self._kept.update(files)

    def outgrown(self, files: Iterable[int]) -> None:
        """The part of the previous hierarchy that had these was split."""
        self._outgrown.update(files)

    def joined(self, joins: Sequence[Join]) -> None:
        """These small parts went into others."""
        self._joins = joins

    def moved(self, moves: Iterable[Move]) -> None:
        """These files went elsewhere; of a file's moves the last one counts."""
        self._moves = {move.file: move for move in moves}

    def __call__(self, path: str) -> tuple[str, ...]:
        """Sentences about a file, in order; none where it is simply where its directory is."""
        file = bisect_left(self._paths, path)
        return tuple(self._sentences(file)) if self._paths[file : file + 1] == [path] else ()

    def _sentences(self, file: int) -> Iterable[str]:
        if file in self._links.hubs:
            links = sum(file in pair for pair in self._links.imports)
            yield f"it has {links} import links, more than {self._most}: a hub, kept apart"
        if file in self._kept:
            yield "it stays where the previous hierarchy had it"
        if file in self._outgrown:
            yield "its part of the previous hierarchy outgrew the limits and was split by directories"
        for join in self._joins:
            if file in join.files:
                reason = f"linked with it most ({join.links:.2f})" if join.links else "the nearest with room"
                share = f"{len(join.files)} files, {join.weight:.0%} full" if len(join.files) > 1 else "this file alone"
                yield f"its part was small ({share}) and joined that of {self._paths[join.beside]}, {reason}"
        move = self._moves.get(file)
        if move is not None and move.made_room_for is not None:
            yield f"it made room for {self._paths[move.made_room_for]}, whose place it took"
        elif move is not None:
            weights = f"{move.there:.2f} there, {move.here:.2f} where it was"
            yield f"its imports drew it to the part of {self._paths[move.beside]}: they weigh {weights}"


def explain(hierarchy: Hierarchy, path: str, imports: Imports) -> Iterator[str]:
    """Sentences about the place of `path`, one a line.

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
