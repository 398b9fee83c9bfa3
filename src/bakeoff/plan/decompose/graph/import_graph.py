"""The import graph of a tree of files in several languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bakeoff.plan.decompose.graph import go, javascript, python
from bakeoff.plan.decompose.graph.javascript import Read


class Resolver(Protocol):
    """Finds the file that an import stands for."""

    def target(self, path: str, spec: str) -> str | None:
        """The file that `spec`, found in `path`, stands for; None where it is none of the tree's."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language whose imports are understood.

    Attributes:
        name: its name and the version of its scanner: what the cache is keyed by, besides the blob.
        suffixes: of its files.
        scan: what a file's text imports, in the words of the language.
        resolver: makes what finds the files that these words stand for.
    """

    name: str
    suffixes: tuple[str, ...]
    scan: Callable[[bytes], list[str]]
    resolver: Callable[[Sequence[str], Read], Resolver]


LANGUAGES = (
    Language(f"python{python.VERSION}", python.SUFFIXES, python.scan, lambda paths, _: python.Resolver(paths)),
    Language(f"javascript{javascript.VERSION}", javascript.SUFFIXES, javascript.scan, javascript.Resolver),
    Language(f"go{go.VERSION}", go.SUFFIXES, go.scan, go.Resolver),
)


def language_of(path: str) -> Language | None:
    """The language of a file, by its name; None where its imports are not understood."""
    return next((language for language in LANGUAGES if path.endswith(language.suffixes)), None)


def import_graph(specs: Mapping[str, Iterable[str]], paths: Sequence[str], read: Read) -> dict[str, list[str]]:
    """Import graph: of each file, those of `paths` that it imports.

    Args:
        specs: what each file's text imports, as `Language.scan` found it.
        paths: all files of the tree.
        read: the text of a file that says how names are resolved (package.json, tsconfig.json, go.mod); None for none.
    """
    resolvers: dict[str, Resolver] = {}
    found: dict[str, list[str]] = {}
    for path, words in specs.items():
        language = language_of(path)
        if language is None:
            continue
        if language.name not in resolvers:
            resolvers[language.name] = language.resolver(paths, read)
        target = resolvers[language.name].target
        others = {other: None for word in words if (other := target(path, word)) is not None and other != path}
        if others:
            found[path] = list(others)
    return found
