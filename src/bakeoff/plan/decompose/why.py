"""What happened to files on their way into their leaves, in sentences for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bakeoff.plan.decompose.links import Links
from bakeoff.plan.decompose.refine import Move
from bakeoff.plan.decompose.repair import Join


class Why:
    """Remembers what happened to files, and says it of one when asked."""

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
        """What happened to a file, in order; nothing where it is simply where its directory is."""
        from bisect import bisect_left

        file = bisect_left(self._paths, path)
        return tuple(self._sentences(file)) if self._paths[file : file + 1] == [path] else ()

    def _sentences(self, file: int) -> Iterable[str]:
        if file in self._links.hubs:
            near = {a if b == file else b for a, b in self._links.imports if file in (a, b)}
            yield f"it imports, or is imported by, {len(near)} files, more than {self._most}: a hub, kept apart"
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
