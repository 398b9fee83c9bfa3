"""Paths as the split knows them: relative to the root, normalised, each once."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from unicodedata import normalize

from bakeoff.plan.decompose.errors import DecomposeError
from bakeoff.plan.decompose.hierarchy import SourceFile

_ODD = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)")
"""A part that is empty, `.` or `..`."""


def in_path_order(files: Iterable[SourceFile], root: str | None = None) -> list[tuple[str, int]]:
    """Path and tokens of each file, sorted by path.

    Args:
        files: in any order.
        root: what absolute paths lie below.

    Raises:
        DecomposeError: a path is outside the root, or stands for the same file as another one.
    """
    found: dict[str, tuple[str, int]] = {}
    for file in files:
        path = _relative(file.path, root)
        plain = path if path.isascii() else normalize("NFC", path)
        if plain in found:
            raise DecomposeError(f"{file.path!r} is there twice: it is the same file as {found[plain][0]!r}")
        found[plain] = (path, max(1, file.tokens))
    return sorted(found.values())


def _relative(path: str, root: str | None) -> str:
    plain = path
    if path.startswith("/"):
        if root is None:
            raise DecomposeError(f"{path!r} is absolute: give paths relative to the project's root, or name the root")
        plain = posixpath.normpath(path)
        base = posixpath.normpath(root).rstrip("/") + "/"
        if not plain.startswith(base):
            raise DecomposeError(f"{path!r} is not below the project's root {root!r}")
        return plain[len(base) :]
    if _ODD.search(path):
        plain = posixpath.normpath(path)
        if plain == "." or plain.startswith("../") or plain == "..":
            raise DecomposeError(f"{path!r} is no path of a file below the project's root")
    return plain
