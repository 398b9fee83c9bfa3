"""Imports the changed files of a contender from memory, instead of those that stand in the project."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import CodeType, ModuleType


class Overlay:
    """A finder for files by their path below `root`; None stands for one that was removed."""

    def __init__(self, root: str, files: Mapping[str, bytes | None]) -> None:
        self.root = root
        self.files = files

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module, where it is one of these files.

        Raises:
            ModuleNotFoundError: it was removed.
        """
        tail = name.rpartition(".")[2]
        for entry in sys.path if path is None else path:
            folder = os.path.relpath(os.path.join(self.root, entry), self.root)
            for below in (os.path.join(tail, "__init__.py"), tail + ".py"):
                file = os.path.normpath(os.path.join(folder, below))
                if file not in self.files:
                    continue
                source = self.files[file]
                if source is None:
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
                place = os.path.join(self.root, file)
                package = [os.path.dirname(place)] if below != tail + ".py" else None
                return importlib.util.spec_from_file_location(
                    name, place, loader=_Source(name, place, source), submodule_search_locations=package
                )
        return None


class _Source(importlib.machinery.SourceFileLoader):
    """Compiles what it was given; no bytecode of another version can come in between."""

    def __init__(self, name: str, path: str, source: bytes) -> None:
        super().__init__(name, path)
        self.source = source

    def get_data(self, path: str) -> bytes:
        return self.source if path == self.path else super().get_data(path)

    def get_code(self, fullname: str) -> CodeType | None:
        return self.source_to_code(self.source, self.path)
