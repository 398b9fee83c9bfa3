"""Imports of Go: an import names a package, which is all files of one folder; one of them stands for it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from bakeoff.plan.decompose.graph.javascript import Read

SUFFIXES = (".go",)
VERSION = 1
"""Goes up whenever `scan` finds something else in the same text."""

_IMPORT = re.compile(rb"\s*(?:\((?P<many>[^)]*)\)|(?P<one>[^\n;]*))")
_PATH = re.compile(rb"""^[ \t]*(?:[\w.]+[ \t]+)?["`]([^"`\n]+)["`]""", re.MULTILINE)
_MODULE = re.compile(rb"""^\s*module\s+["`]?([^\s"`]+)""", re.MULTILINE)


def scan(text: bytes) -> list[str]:
    """The packages that a file imports."""
    found: dict[str, None] = {}
    at = 0 if text.startswith(b"import") else text.find(b"\nimport") + 1 or -1
    while at >= 0:
        match = _IMPORT.match(text, at + 6)
        part = (match["many"] or match["one"] or b"") if match is not None else b""
        for path in _PATH.findall(part):
            found[path.decode("utf-8", "replace")] = None
        at = text.find(b"\nimport", at) + 1 or -1
    return list(found)


class Resolver:
    """Finds the package that an import stands for, among these files; `read` gives each go.mod.

    Attributes:
        face: of a folder, the file that stands for its package: the one named like it, else the first.
    """

    def __init__(self, paths: Iterable[str], read: Read) -> None:
        paths = sorted(paths)
        self.face: dict[str, str] = {}
        for path in paths:
            if path.endswith(".go") and not path.endswith("_test.go"):
                folder = posixpath.dirname(path)
                self.face.setdefault(folder, path)
                if posixpath.basename(path) == f"{posixpath.basename(folder)}.go":
                    self.face[folder] = path
        self._modules: dict[str, str] = {}
        for path in paths:
            if posixpath.basename(path) == "go.mod":
                name = _MODULE.search(read(path) or b"")
                if name is not None:
                    self._modules[name[1].decode("utf-8", "replace")] = posixpath.dirname(path)

    def target(self, path: str, spec: str) -> str | None:
        """The file that stands for the package `spec`; None where it is none of these files."""
        module = spec
        while module:
            if module in self._modules:
                folder = posixpath.join(self._modules[module], spec[len(module) + 1 :]).rstrip("/")
                return self.face.get(folder)
            module = module.rpartition("/")[0]
        return None
