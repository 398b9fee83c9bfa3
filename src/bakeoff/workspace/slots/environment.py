"""Environment of a slot: its own ports, temp directory and names, its own sources first, nothing of another git."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from bakeoff.workspace.slots.ports import Ports
from bakeoff.workspace.snapshot.snapshot import Entries

_GIT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE")  # fmt: skip


def slot_environment(
    path: str, slot: str, temp: Path, ports: Ports, roots: Sequence[str], project: Path
) -> dict[str, str | None]:
    """Variables to set, and with None to take away, for commands in the slot mounted or checked out at `path`.

    Not `BAKEOFF_RUN`: that is the spawner's mark, by which processes are found that outlived their run.

    Args:
        path: of the slot's files.
        slot: its name.
        temp: its folder for temporary files.
        ports: its own.
        roots: folders of Python packages, relative to the slot's top.
        project: the user's checkout: what PYTHONPATH names in it is named in the slot instead.
    """
    sources = [path if root == "." else os.path.join(path, root) for root in roots]
    ours, others = search_path(project)
    ours = [os.path.normpath(os.path.join(path, entry)) for entry in ours]
    found: dict[str, str | None] = dict.fromkeys(_GIT)
    return found | {
        "BAKEOFF_SLOT": slot,
        "BAKEOFF_SLOT_PATH": path,
        "BAKEOFF_PORT": str(ports.first),
        "BAKEOFF_PORTS": f"{ports.numbers[0]}-{ports.numbers[-1]}",
        "PORT": str(ports.first),
        "COMPOSE_PROJECT_NAME": f"bakeoff-{slot}",
        "GIT_CEILING_DIRECTORIES": os.path.dirname(path),
        "PWD": path,
        "PYTHONPATH": os.pathsep.join(dict.fromkeys([*sources, *ours, *others])),
        "TMPDIR": str(temp),
    }


def search_path(project: Path) -> tuple[list[str], list[str]]:
    """The user's PYTHONPATH: folders in the project, relative to its top, and all others, absolute.

    A relative one is meant from where bakeoff was started.
    """
    top = os.path.realpath(project)
    ours, others = [], []
    for entry in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        inside = os.path.relpath(os.path.realpath(entry), top)
        if inside == os.pardir or inside.startswith(os.pardir + os.sep):
            others.append(os.path.abspath(entry))
        else:
            ours.append(inside)
    return ours, others


def source_roots(entries: Entries, configured: Sequence[str]) -> tuple[str, ...]:
    """Source roots of the project's packages: as configured, or `src` where there is Python in it, and the top."""
    if configured:
        return tuple(configured)
    inside = any(path.startswith(b"src/") and path.endswith(b".py") for path in entries.files)
    return ("src", ".") if inside else (".",)
