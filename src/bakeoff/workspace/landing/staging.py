"""Staging: the files of a commit as a checkout has them, made ready in a folder before any file is replaced."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bakeoff.report.escape import path_text
from bakeoff.workspace.errors import ApplyError
from bakeoff.workspace.filters.attributes import check_out, filters_in, is_rule, rules_of
from bakeoff.workspace.repository.repository import Repository
from bakeoff.workspace.results.results import Changed
from bakeoff.workspace.snapshot.project import Project
from bakeoff.workspace.snapshot.snapshot import read_entries

Rules = Mapping[bytes, bytes]
"""The texts of `.gitattributes` by their paths."""


def staged_files(
    project: Project, repository: Repository, rules: Rules, target: str, changed: tuple[Changed, ...], folder: Path
) -> Path:
    """The changed files of the tree `target` as a checkout has them, in a new folder inside `folder`."""
    staged = folder / "files"
    staged.mkdir()
    put = [os.fsencode(change.path) for change in changed if change.status != "D"]
    through = _through_filters(project, repository, rules, target, put, staged) if project.filters else set()
    git = repository.git_for(project, staged, folder / "index", filters=False)
    git.run("read-tree", target)
    check_out(git, data=b"".join(path + b"\0" for path in put if path not in through))
    return staged


def check_same_filters(
    project: Project, repository: Repository, rules: Rules, target: str, changed: tuple[Changed, ...]
) -> None:
    """See that no changed file would go through another content filter by the attributes that are applied with it.

    Raises:
        ApplyError: one would: which filters run in their work tree is for the user to say.
    """
    paths = [os.fsencode(change.path) for change in changed if change.status != "D"]
    if not project.filters or not any(is_rule(os.fsencode(change.path)) for change in changed):
        return
    after = rules_of(repository, read_entries(repository, target).files)
    with filters_in(project, repository, rules) as now, filters_in(project, repository, after) as then:
        here, there = now.of(paths), then.of(paths)
    moved = [os.fsdecode(path) for path in paths if here.get(path) != there.get(path)]
    if moved:
        named = ", ".join(map(path_text, moved[:10]))
        raise ApplyError(
            f"the result cannot be applied to {project.root}: by its .gitattributes, other content filters run for "
            f"{named}; nothing was changed. Say --branch NAME, look at it, and check it out",
            tuple(moved),
        )


def _through_filters(
    project: Project, repository: Repository, rules: Rules, target: str, paths: list[bytes], staged: Path
) -> set[bytes]:
    """Put those of the files there that go through a content filter; returns their paths."""
    with filters_in(project, repository, rules) as filters:
        named = filters.of(paths)
        files = read_entries(repository, target).files if named else {}
        found = {path: files[path] for path in named if files[path][0].startswith(b"100")}
        if found:
            filters.smudged(found, staged)
        return set(found)
