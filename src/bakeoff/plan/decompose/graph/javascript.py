"""Imports of JavaScript and TypeScript: relative ones, packages of a workspace, and the aliases of a tsconfig."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable
from typing import Any

SUFFIXES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
VERSION = 1
"""Goes up whenever `scan` finds something else in the same text."""

_SPEC = rb"""["']([^"'\n\r\s]{1,300})["']"""
# One pattern a word: each begins with a literal, which the engine finds at the speed of memory.
_PATTERNS = tuple(
    re.compile(word + _SPEC)
    for word in (rb"from\s*", rb"import\s*", rb"import\s*\(\s*", rb"require\s*\(\s*", rb"require\.resolve\s*\(\s*")
)
_COMMENT = re.compile(rb"/\*.*?\*/|(?<![:\"'`\w])//[^\n]*", re.DOTALL)

_TRIES = ("", ".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json", ".vue", ".svelte")
_INDEXES = tuple(f"/index{suffix}" for suffix in _TRIES[1:])
_WRITTEN_FOR = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx",),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
"""What TypeScript means by the name of the file that it will write."""

Read = Callable[[str], bytes | None]


def scan(text: bytes) -> list[str]:
    """The module names that a file imports, requires or re-exports from."""
    if b"import" not in text and b"require" not in text and b"from" not in text:
        return []
    text = _COMMENT.sub(b" ", text)
    found = {match[1]: None for pattern in _PATTERNS for match in pattern.finditer(text)}
    return [spec.decode("utf-8", "replace") for spec in found]


class Resolver:
    """Finds the file that a module name stands for, among these files; `read` gives package.json and tsconfig.json."""

    def __init__(self, paths: Iterable[str], read: Read) -> None:
        paths = list(paths)
        self._files = set(paths)
        self._packages = _packages(paths, read)
        self._aliases = _aliases(paths, read)

    def target(self, path: str, spec: str) -> str | None:
        """The file that `spec`, found in `path`, stands for; None where it is none of these files."""
        spec = spec.partition("?")[0]
        if spec.startswith("."):
            return self._file(posixpath.normpath(posixpath.join(posixpath.dirname(path), spec)))
        if spec.startswith(("/", "#")) or not spec:
            return None
        return self._aliased(path, spec) or self._packaged(spec)

    def _file(self, place: str) -> str | None:
        for suffix in _TRIES:
            if place + suffix in self._files:
                return place + suffix
        stem, suffix = posixpath.splitext(place)
        for other in _WRITTEN_FOR.get(suffix, ()):
            if stem + other in self._files:
                return stem + other
        start = "" if place == "." else place
        return next((found for index in _INDEXES if (found := (start + index).lstrip("/")) in self._files), None)

    def _aliased(self, path: str, spec: str) -> str | None:
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            for prefix, suffix, places in self._aliases.get(folder, ()):
                if spec.startswith(prefix) and spec.endswith(suffix) and len(spec) >= len(prefix) + len(suffix):
                    star = spec[len(prefix) : len(spec) - len(suffix)]
                    for place in places:
                        found = self._file(posixpath.normpath(place.replace("*", star)))
                        if found is not None:
                            return found
            if folder in self._aliases:
                return None
        return None

    def _packaged(self, spec: str) -> str | None:
        parts = spec.split("/")
        name = "/".join(parts[: 2 if spec.startswith("@") else 1])
        if name not in self._packages:
            return None
        folder, entries = self._packages[name]
        inner = spec[len(name) + 1 :]
        places = [inner, f"src/{inner}"] if inner else [*entries, "src/index", "index"]
        found = (self._file(posixpath.normpath(posixpath.join(folder, place))) for place in places)
        return next((file for file in found if file is not None), None)


def _packages(paths: Iterable[str], read: Read) -> dict[str, tuple[str, list[str]]]:
    """Folder and possible main files of each package by its name."""
    found: dict[str, tuple[str, list[str]]] = {}
    for path in sorted(path for path in paths if posixpath.basename(path) == "package.json"):
        body = _json(read(path))
        name = body.get("name")
        if isinstance(name, str):
            entries = [body[key] for key in ("source", "types", "module", "main") if isinstance(body.get(key), str)]
            found.setdefault(name, (posixpath.dirname(path), entries))
    return found


def _aliases(paths: Iterable[str], read: Read) -> dict[str, list[tuple[str, str, list[str]]]]:
    """Of each folder with a tsconfig: what stands before and after the star of an alias, and the places it means."""
    found: dict[str, list[tuple[str, str, list[str]]]] = {}
    for path in paths:
        if posixpath.basename(path) not in ("tsconfig.json", "jsconfig.json"):
            continue
        options = _json(read(path)).get("compilerOptions")
        if not isinstance(options, dict):
            continue
        folder = posixpath.dirname(path)
        base = options.get("baseUrl")
        start = posixpath.join(folder, base) if isinstance(base, str) else folder
        aliases = options.get("paths")
        here = found.setdefault(folder, [])
        for alias, places in aliases.items() if isinstance(aliases, dict) else ():
            prefix, _, suffix = alias.partition("*")
            meant = [posixpath.join(start, place) for place in places if isinstance(place, str)]
            here.append((prefix, suffix, meant))
        here.sort(key=lambda alias: -len(alias[0]))
        if isinstance(base, str):
            here.append(("", "", [posixpath.join(start, "*")]))
    return found


_TRAILING = re.compile(r",(\s*[}\]])")
_JSON_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def _json(raw: bytes | None) -> dict[str, Any]:
    """A JSON object that may have comments and commas too many; empty where it is none."""
    try:
        text = _JSON_COMMENT.sub(lambda match: match[1] or "", (raw or b"").decode("utf-8-sig", "replace"))
        found = json.loads(_TRAILING.sub(r"\1", text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
