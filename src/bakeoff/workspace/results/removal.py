"""Removal of a run's results: their refs, and slots that its dead owner left."""

from __future__ import annotations

from pathlib import Path

from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.landing.applying import open_project
from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.repository import ref_name
from bakeoff.workspace.slots.sweep import sweep


def forget(project: Path, run: str) -> list[str]:
    """Delete the refs of the run's results, and save and bury dead slots; returns the refs. Salvaged work stays.

    Where the project is no git work tree any more there is nothing to do. To be called in a thread, or alone.
    """
    try:
        theirs, repository = open_project(project)
        sweep(ProjectCache.of(theirs.common_dir))
        refs = list(repository.refs(ref_name(run, "x").rpartition("/")[0]))
        lines = "".join(f"delete {ref}\n" for ref in refs).encode()
        repository.git().run("update-ref", "--stdin", data=lines)
    except WorkspaceError:
        return []
    return refs
