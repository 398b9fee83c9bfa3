"""Lookup of workflow files: the one that `workflow:` or a command line names."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from bakeoff.errors import BakeoffError
from bakeoff.system.named_files import kind_of, read_named
from bakeoff.system.ownership import check_owner

_ID = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


def find_workflow(name: str, caller: Path | None, project: Path) -> Path | None:
    """The file of a workflow: a path beside the caller, else an id under `.bakeoff` or `.specify`; None if nowhere."""
    for number, candidate in enumerate(candidates(name, caller, project)):
        try:
            if candidate.is_file():
                if number:  # found by its id, and nobody has said where it lies
                    check_owner(candidate.parents[1], candidate.parent, candidate)
                    _check_enabled(name, candidate)
                return candidate
        except (OSError, ValueError):  # a name that no file can have, such as one that is too long
            continue
    return None


def _check_enabled(name: str, file: Path) -> None:
    """See that spec-kit's registry does not say that the workflow is not to be run.

    Raises:
        BakeoffError: it does.
    """
    registry = file.parents[1] / "workflow-registry.json"
    try:
        known = json.loads(read_named(registry).decode())["workflows"][name]["enabled"]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return
    if known is False:
        raise BakeoffError(f"the workflow {name!r} is not enabled in {registry}; enable it there, or name its file")


def candidates(name: str, caller: Path | None, project: Path) -> list[Path]:
    """The places looked at, in order."""
    beside = (caller.parent if caller else project) / os.path.expanduser(name)
    places = [beside]
    if _ID.fullmatch(name):
        places += [
            project / ".bakeoff" / "workflows" / f"{name}.yml",
            project / ".specify" / "workflows" / name / "workflow.yml",
        ]
    return places


def require_workflow(name: str, caller: Path | None, project: Path) -> Path:
    """The file of a workflow.

    Raises:
        BakeoffError: there is none; the message says where it was looked for.
    """
    found = find_workflow(name, caller, project)
    if found is None:
        for place in candidates(name, caller, project):
            if os.path.isdir(place):
                raise BakeoffError(f"{place} is a folder, not a workflow file; name the file in it")
            if os.path.exists(place):
                what = f"{place} is {kind_of(place.stat().st_mode)}, and a workflow is a regular file"
                raise BakeoffError(f"{what}: write it to one, for what it names is looked for beside it")
        looked = ", ".join(str(place) for place in candidates(name, caller, project))
        raise BakeoffError(f"there is no workflow {name!r}; looked for {looked}")
    return found
