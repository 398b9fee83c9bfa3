"""Imports of Python: found by a scan for the word, resolved as the interpreter would from every root it can find."""

from __future__ import annotations

import re
from collections.abc import Iterable

SUFFIXES = (".py", ".pyi")
VERSION = 1
"""Goes up whenever `scan` finds something else in the same text."""

_FROM = re.compile(rb"from(?:[ \t]+|(?=\.))(\.*[ \t]*[\w.]*)")
_COMMENT = re.compile(rb"#[^\n]*")
_PACKAGE = re.compile(r"(?:^|/)__init__\Z")
_LONGEST = 100_000
"""Bytes of one statement."""


def scan(text: bytes) -> list[str]:
    """Imports of a module: `a.b` for `import a.b`, `a.b:c` for `from a.b import c`, `.a:*` for `from .a import *`."""
    found: dict[str, None] = {}
    at = text.find(b"import")
    while at >= 0:
        head = text[text.rfind(b"\n", 0, at) + 1 : at].strip()
        after = at + 6
        if not head:
            for name in _names(text, after):
                found[name] = None
        elif head.startswith(b"from"):
            module = _FROM.fullmatch(head)
            if module is not None:
                source = module[1].replace(b" ", b"").decode("ascii")
                for name in _names(text, after):
                    found[f"{source}:{name}"] = None
        at = text.find(b"import", after)
    return list(found)


def _names(text: bytes, start: int) -> list[str]:
    """The names after the word `import`; none where it is no statement."""
    if text[start : start + 1] not in (b" ", b"\t", b"(", b"\\"):
        return []
    stop = text.find(b"\n", start)
    part = text[start : stop if stop >= 0 else len(text)]
    if part.lstrip().startswith(b"("):
        stop = text.find(b")", start, start + _LONGEST)
        part = text[start:stop].replace(b"(", b"", 1) if stop >= 0 else b""
    else:
        while part.endswith((b"\\", b"\\\r")) and 0 <= stop < start + _LONGEST:
            begin, stop = stop + 1, text.find(b"\n", stop + 1)
            part = part.rstrip(b"\\\r") + b" " + text[begin : stop if stop >= 0 else len(text)]
        part = part.partition(b";")[0]
    if b"#" in part:
        part = _COMMENT.sub(b"", part)
    words = [piece.split(None, 1) for piece in part.split(b",")]
    names = [word[0].decode("ascii", "replace") for word in words if word]
    return names if all(name == "*" or name.replace(".", "").isidentifier() for name in names) else []


class Resolver:
    """Finds the file that an import stands for, among these files."""

    def __init__(self, paths: Iterable[str]) -> None:
        files = [path for path in paths if path.endswith(SUFFIXES)]
        self._modules = _modules(files)
        self._roots = _roots(files)
        self._known: dict[str, list[str]] = {}
        self._near: dict[tuple[str, str], str | None] = {}

    def target(self, path: str, spec: str) -> str | None:
        """The file that `spec`, found in `path`, stands for; None where it is none of these files."""
        found: list[str] = []
        if not spec.startswith("."):
            if spec not in self._known:
                self._known[spec] = self._everywhere(spec)
            found = self._known[spec]
            if len(found) < 2:
                return found[0] if found else None
        folder = path.rpartition("/")[0]
        if (folder, spec) not in self._near:
            self._near[folder, spec] = _nearest(folder, found) if found else self._relative(folder, spec)
        return self._near[folder, spec]

    def _relative(self, folder: str, spec: str) -> str | None:
        module, _, name = spec.partition(":")
        rest = module.lstrip(".")
        for _ in range(len(module) - len(rest) - 1):
            if not folder:
                return None  # above the root
            folder = folder.rpartition("/")[0]
        return self._file(f"{folder}/{rest.replace('.', '/')}".strip("/"), name)

    def _everywhere(self, spec: str) -> list[str]:
        module, _, name = spec.partition(":")
        place = module.replace(".", "/")
        roots = self._roots.get(module.partition(".")[0], ())
        return [file for root in roots if (file := self._file(root + place, name)) is not None]

    def _file(self, place: str, name: str) -> str | None:
        """The module `name` of the package at `place`, else the module at `place`."""
        inner = self._modules.get(f"{place}/{name}" if place else name) if name else None
        return inner or self._modules.get(place)


def _modules(files: Iterable[str]) -> dict[str, str]:
    """The file of each module by its path without suffix; a stub where there is nothing else."""
    found: dict[str, str] = {}
    for path in sorted(files, key=lambda path: (path.endswith(".pyi"), path)):
        place = path.rpartition(".")[0]
        found.setdefault(_PACKAGE.sub("", place), path)
    return found


def _roots(files: Iterable[str]) -> dict[str, list[str]]:
    """Of each name that an import can begin with, the folders it can be found in: none of them is a package."""
    files = list(files)
    packages = {path.rpartition("/")[0] for path in files if path.endswith(("/__init__.py", "/__init__.pyi"))}
    roots: dict[str, set[str]] = {}
    folders: set[str] = set()
    for path in files:
        folder, _, name = path.rpartition("/")
        if folder not in packages:
            roots.setdefault(name.rpartition(".")[0], set()).add(folder)
        while folder and folder not in folders:
            folders.add(folder)
            parent, _, name = folder.rpartition("/")
            if parent not in packages:
                roots.setdefault(name, set()).add(parent)
            folder = parent
    return {name: sorted(f"{folder}/" if folder else "" for folder in found) for name, found in roots.items()}


def _nearest(folder: str, files: Iterable[str]) -> str:
    """Of the same module below several roots, the one that shares most folders with who imports it."""
    return max(files, key=lambda file: (_shared(folder, file), -len(file), file))


def _shared(one: str, other: str) -> int:
    """Count of leading folders that two paths have in common."""
    count = 0
    for a, b in zip(one.split("/"), other.split("/"), strict=False):
        if a != b:
            break
        count += 1
    return count
