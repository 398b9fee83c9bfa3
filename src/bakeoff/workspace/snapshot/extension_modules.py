"""Extension modules that were built beside their sources: git ignores them, so slots do not have them."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from bakeoff.workspace.snapshot.snapshot import Entries

_SOURCES = (b".c", b".cc", b".cpp", b".cxx", b".pyx", b".rs", b".f90")
_BUILT = (".so", ".pyd")
NAMED = 3


def unbuilt_in_slots(root: Path, entries: Entries, given: Collection[str]) -> str | None:
    """The message on extension modules of the checkout that slots do not have; None where there are none. Blocks.

    Args:
        root: the user's checkout.
        entries: the snapshot's files.
        given: paths that slots are given besides.
    """
    if not any(path.endswith(_SOURCES) for path in entries.files):
        return None
    folders = {path.rpartition(b"/")[0] for path in entries.files if path.endswith(b".py")}
    found = []
    for folder in sorted(os.fsdecode(folder) for folder in folders):
        try:
            names = os.listdir(root / folder)
        except OSError:
            continue
        paths = [os.path.join(folder, name) for name in sorted(names) if name.endswith(_BUILT)]
        found += [path for path in paths if os.fsencode(path) not in entries.files and path not in given]
    if not found:
        return None
    listed = ", ".join(f'"{path}"' for path in found[:NAMED]) + (", ..." if len(found) > NAMED else "")
    return (
        f"slots do not have what was built into your packages, {listed}: build it there with `setup`, or, where nobody "
        f"changes its sources, name it under copy = [...] in [tool.bakeoff.slots]"
    )
