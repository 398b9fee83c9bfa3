"""Cone, git's word for a part of a tree: some folders with all below, and the files directly in folders above."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cone:
    """The files that it has.

    Attributes:
        whole: folders that it has with all below them; the top of the tree is the empty one.
        above: the folders above these, and the top: it has the files directly in them.
    """

    whole: frozenset[bytes]
    above: frozenset[bytes]

    @classmethod
    def of(cls, paths: Iterable[bytes]) -> Cone:
        """The smallest one that has these files. Of what is at the top it has files only."""
        folders = {path.rpartition(b"/")[0] for path in paths} - {b""}
        whole = {folder for folder in folders if not any(above in folders for above in _above(folder))}
        return cls(frozenset(whole), frozenset([b"", *(above for folder in whole for above in _above(folder))]))

    def parts(self, paths: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Those of the files that it has, and the others."""

        @lru_cache(None)
        def has(folder: bytes) -> bool:
            return folder in self.above or folder in self.whole or any(up in self.whole for up in _above(folder))

        inside: list[bytes] = []
        outside: list[bytes] = []
        for path in paths:
            (inside if has(path.rpartition(b"/")[0]) else outside).append(path)
        return inside, outside

    def set_up(self, folder: Path, config: Path) -> None:
        """Have git take it for what there is in a work tree.

        Args:
            folder: the git directory of the work tree.
            config: the configuration of its repository.
        """
        lines = ["/*\n", "!/*/\n"]
        for name in sorted((self.above | self.whole) - {b""}):
            text = re.sub(r"([\\*?\[\]])", r"\\\1", os.fsdecode(name))
            lines.append(f"/{text}/\n")
            if name in self.above:
                lines.append(f"!/{text}/*/\n")
        (folder / "info").mkdir(exist_ok=True)
        (folder / "info/sparse-checkout").write_bytes(os.fsencode("".join(lines)))
        with config.open("a") as file:
            file.write("[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n")


def folders_above(paths: Iterable[bytes]) -> frozenset[bytes]:
    """All folders that these files are in, at any depth, but for the top."""
    found: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition(b"/")[0]
    return frozenset(found)


def _above(folder: bytes) -> Iterator[bytes]:
    """The folders above, from the nearest, but for the top."""
    while folder := folder.rpartition(b"/")[0]:
        yield folder
