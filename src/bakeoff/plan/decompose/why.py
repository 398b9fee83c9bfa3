"""What happened to files on their way into their leaves, in sentences for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bakeoff.plan.decompose.links import Links
from bakeoff.plan.decompose.refine import Move
from bakeoff.plan.decompose.repair import Join


class Why:
    """Collects sentences by file."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._said: dict[int, list[str]] = {}

    def hubs(self, links: Links, most: int) -> None:
        """Why hubs are apart."""
        degree = dict.fromkeys(links.hubs, 0)
        for pair in {(a, b) if a < b else (b, a) for a, b in links.imports}:
            for file in pair:
                if file in degree:
                    degree[file] += 1
        for file, count in degree.items():
            self._say([file], f"it imports, or is imported by, {count} files, more than {most}: a hub, kept apart")

    def joins(self, joins: Iterable[Join]) -> None:
        """Why small parts went into others."""
        for join in joins:
            reason = (
                f"which its imports link it with most ({join.links:.2f})" if join.links else "the nearest with room"
            )
            share = f"{len(join.files)} files, {join.weight:.0%} full" if len(join.files) > 1 else "this file alone"
            self._say(
                join.files, f"its part was small ({share}) and joined that of {self._paths[join.beside]}, {reason}"
            )

    def moves(self, moves: Iterable[Move]) -> None:
        """Why single files went elsewhere."""
        for move in moves:
            if move.made_room_for is not None:
                self._say([move.file], f"it made room for {self._paths[move.made_room_for]}, whose place it took")
                continue
            weights = f"{move.there:.2f} there, {move.here:.2f} where it was"
            self._say(
                [move.file], f"its imports drew it to the part of {self._paths[move.beside]}: they weigh {weights}"
            )

    def kept(self, files: Iterable[int]) -> None:
        """Why most files are where they are after a warm start."""
        self._say(files, "it stays where the previous hierarchy had it")

    def split(self, files: Iterable[int]) -> None:
        """Why a part of the previous hierarchy is none any more."""
        self._say(files, "its part of the previous hierarchy outgrew the limits and was split by directories")

    def sentences(self) -> dict[str, tuple[str, ...]]:
        """All that was said, by path."""
        return {self._paths[file]: tuple(said) for file, said in self._said.items()}

    def _say(self, files: Iterable[int], sentence: str) -> None:
        for file in files:
            self._said.setdefault(file, []).append(sentence)
