"""Paths as the split knows them: relative to the root, normalised, each once."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from unicodedata import normalize

from bakeoff.plan.decompose.hierarchy import SourceFile
from bakeoff.plan.errors import DecomposeError

_ODD = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)")
"""A part that is empty, `.` or `..`."""


def in_path_order(files: Iterable[SourceFile], root: str | None = None) -> list[tuple[str, int]]:
    """Path and tokens of each file, sorted by path.

    Raises:
        DecomposeError: a path is outside the root, or stands for the same file as another one.
    """
    given = list(files)
    found = sorted((_relative(file.path, root), max(1, file.tokens)) for file in given)
    seen: set[str] = set()
    for path, _ in found:
        plain = path if path.isascii() else normalize("NFC", path)
        if plain in seen:
            names = [file.path for file in given if normalize("NFC", _relative(file.path, root)) == plain]
            raise DecomposeError(f"{' and '.join(map(repr, names))} are the same file: it is there twice")
        seen.add(plain)
    return found


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
    if ("/." in path or "//" in path or path[:1] in "./" or path.endswith("/")) and _ODD.search(path):
        plain = posixpath.normpath(path)
        if plain == "." or plain.startswith("../") or plain == "..":
            raise DecomposeError(f"{path!r} is no path of a file below the project's root")
    return plain
