"""The top-level modules of a project, as its snapshot has them: also those that were deleted in the slot."""

from __future__ import annotations

import os
from collections.abc import Iterable

from bakeoff.workspace.slots.slot import Slot

NOT_IMPORTED = frozenset({"tests", "test", "docs", "doc", "examples", "conftest", "setup", "noxfile", "tasks", "build"})


def import_names(slot: Slot) -> tuple[str, ...]:
    """Names that Python code of the project is imported by."""
    return names_in(map(os.fsdecode, slot.base.entries.files), roots_of(slot))


def roots_of(slot: Slot) -> list[str]:
    """The folders of Python packages, relative to the slot's top: those that its PYTHONPATH begins with."""
    found = []
    for entry in (slot.env.get("PYTHONPATH") or "").split(":"):
        if entry == slot.path:
            found.append("")
        elif entry.startswith(slot.path + "/"):
            found.append(entry[len(slot.path) + 1 :])
    return found


def names_in(files: Iterable[str], roots: Iterable[str]) -> tuple[str, ...]:
    """The same for a list of files. At the top only what is clearly a package or module counts."""
    sources = [path for path in files if path.endswith((".py", ".pyi"))]
    known = set(sources)
    inner = [root for root in roots if root]
    found = set()
    for root in roots:
        start = f"{root}/" if root else ""
        for path in sources:
            if not path.startswith(start) or (not root and any(path.startswith(f"{other}/") for other in inner)):
                continue
            first, _, rest = path[len(start) :].partition("/")
            name = first if rest else first.rpartition(".")[0]
            if not name.isidentifier() or (not root and name in NOT_IMPORTED):
                continue
            if root or not rest or f"{name}/__init__.py" in known:
                found.add(name)
    return tuple(sorted(found))
