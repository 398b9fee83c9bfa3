"""Ignored files that a check misses: what the user's checkout has, the snapshot has not, and the output asks for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bakeoff.workspace.slots.base import Base
from bakeoff.workspace.snapshot.snapshot import Entries

LONGEST = 500
"""Characters of a line beyond which it is not looked at."""

MOST, MOST_NAMES = 5, 20
"""Paths that are named, and names that are looked for."""

_MODULES = re.compile(
    r"No module named '?(?P<module>[\w.]+)'?|cannot import name '(?P<name>\w+)' from (?:partially initialized module )?"
    r"'(?P<package>[\w.]+)'"
)
_FILES = re.compile(
    r"(?:No such file or directory|no such file or directory, \w+|Cannot find module|cannot load such file --)"
    r":? ['\"`]?(?P<after>[\w./@+-]+)|['\"`]?(?P<before>[\w./@+-]+)['\"`]?: (?:No such file or directory|not found)"
)
_ENDINGS = ("", ".py", ".so", ".pyi", ".js", ".ts", ".json", ".rb")


def missing_files(text: str, root: Path, entries: Entries) -> list[str]:
    """Paths of the checkout that a run in a slot did not find, and that its snapshot does not have. Blocks."""
    found: dict[str, None] = {}
    for name in islice(dict.fromkeys(_named(text)), MOST_NAMES):
        for path in _places(name, entries):
            known = os.fsencode(path) in entries.files or os.fsencode(path) in entries.folders
            if not known and path.split("/")[0] not in ("", "..", ".git", ".bakeoff") and (root / path).exists():
                found.setdefault(path)
                break
    return list(found)[:MOST]


def what_to_copy(text: str, base: Base) -> str | None:
    """Advice on ignored files that a run in a slot did not find; None where it missed none. Blocks."""
    found = missing_files(text, base.project.root, base.entries)
    if not found:
        return None
    listed = ", ".join(f'"{path}"' for path in found)
    return (
        f"misses {', '.join(found)}, which your checkout has and slots have not, since git ignores it: give it to them "
        f"with copy = [{listed}] in [tool.bakeoff.slots] of pyproject.toml, or in [slots] of bakeoff.toml"
    )


def _named(text: str) -> Iterator[str]:
    """Names of files that are not found: a path, or the end of one."""
    for line in text.splitlines():
        if len(line) > LONGEST:
            continue
        for found in _MODULES.finditer(line):
            yield (found["module"] or f"{found['package']}.{found['name']}").replace(".", "/")
        for found in _FILES.finditer(line):
            yield os.path.normpath(found["after"] or found["before"])


def _places(name: str, entries: Entries) -> Iterator[str]:
    """Paths where it may be, seen from the top of the project.

    Of an absolute path, which begins with the slot's place, any end; anything else may be in any folder.
    """
    if name.startswith("/"):
        parts = name.strip("/").split("/")
        yield from ("/".join(parts[place:]) for place in range(len(parts)))
        return
    parent, _, last = name.rpartition("/")
    for folder in ("", *(os.fsdecode(folder) for folder in sorted(entries.folders))):
        if not parent or f"/{folder}".endswith(f"/{parent}"):
            yield from (f"{folder}/{last}{ending}".lstrip("/") for ending in _ENDINGS)
