"""Effects of content filters on a snapshot: files as a checkout has them, commits as `git add` makes them."""

from __future__ import annotations

import os
import secrets
from collections import defaultdict
from collections.abc import Iterable

from bakeoff.report.escape import path_text
from bakeoff.workspace.errors import ProjectError
from bakeoff.workspace.filters.attributes import Entry, Filters, filters_in, temporary
from bakeoff.workspace.filters.drivers import missing_program
from bakeoff.workspace.landing.merging import commit_tree
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.slots.base import Base
from bakeoff.workspace.snapshot.snapshot import read_entries

_MOST_NAMED = 3
_LARGEST = 100 << 20
"""Bytes of a file that is stored again through its filter."""


def check_filters(base: Base) -> tuple[tuple[str, ...], list[str]]:
    """The files that no filter of theirs can be run for, and what is to be said of them.

    Raises:
        ProjectError: git would not check them out either, because the filter is required.
    """
    files: dict[str, list[str]] = defaultdict(list)
    why: dict[str, str] = {}
    said: list[str] = []
    for path, name in base.filters.items():
        files[name].append(os.fsdecode(path))
        why.setdefault(name, "your git configuration does not have that filter")
    root = base.project.root
    for driver in sorted(set(base.filtered.values()), key=lambda driver: driver.name):
        programs = [missing_program(command, root) if command else None for command in (driver.smudges, driver.cleans)]
        named = _some(files[driver.name])
        if driver.required and any(programs):
            raise ProjectError(
                f"{named} in {root} cannot be checked out and stored: git sends that through the content filter "
                f"{driver.name!r}, and its program {programs[0] or programs[1]} was not found. Install it, or take "
                f"`filter.{driver.name}.required` out of your git configuration to have it as git stores it"
            )
        if programs[0] is None:
            files.pop(driver.name)
        else:
            why[driver.name] = f"its program {programs[0]} was not found"
        if programs[1] is not None:
            said.append(
                f"{named}: what attempts write there is stored as it stands, as `git add` does it: the program "
                f"{programs[1]} of the content filter {driver.name!r} was not found"
            )
    said += [
        f"{_some(paths)}: in slots as git stores that, for want of the content filter {name!r}: {why[name]}"
        for name, paths in files.items()
    ]
    return tuple(path for paths in files.values() for path in paths), said


def _some(paths: list[str]) -> str:
    named = ", ".join(path_text(path) for path in paths[:_MOST_NAMED])
    return named if len(paths) <= _MOST_NAMED else f"{named} and {len(paths) - _MOST_NAMED} more files"


def checkout_contents(base: Base, commit: str, paths: Iterable[bytes]) -> dict[bytes, bytes]:
    """Contents, as in a checkout of a commit, of those paths that go through a content filter. Blocks.

    Passes on GitError: a filter that is required failed.
    """
    if not base.project.filters:
        return {}
    files = base.entries.files if commit == base.snapshot.commit else read_entries(base.repository, commit).files
    regular = [path for path in paths if files.get(path, (b"", b""))[0].startswith(b"100")]
    with filters_in(base.project, base.repository, base.rules) as filters, temporary(base.repository) as out:
        through = list(filters.of(regular))
        filters.smudged({path: files[path] for path in through}, out)
        return {path: (out / os.fsdecode(path)).read_bytes() for path in through}


def stored_content(base: Base, path: bytes, content: bytes) -> str | None:
    """The object that `git add` would make of a content by the snapshot's attributes; None if it cannot. Blocks.

    Passes on GitError.
    """
    with filters_in(base.project, base.repository, base.rules) as filters:
        found = filters.store({path: content})
    return found.ids[path].decode() if path in found.ids else None


def cleaned_commit(base: Base, lent: Git, commit: str) -> str:
    """A commit that an agent made, with what its git, which has no filters, stored as it stood.

    Where there is any such file, it is one commit on top of the snapshot, in which they are as `git add` stores them.

    Args:
        base: what the slot started from.
        lent: bakeoff's git, which sees the agent's objects, too.
        commit: the agent's.

    Passes on GitError.
    """
    if not base.project.filters:
        return commit
    new = lent.run("rev-list", commit, "--not", base.snapshot.commit)
    names = ("diff-tree", "--stdin", "-m", "-r", "-z", "--root", "--name-only", "--no-renames", "--no-commit-id")
    touched = set(lent.run(*names, data=new).split(b"\0")) - {b""}
    with filters_in(base.project, base.repository, base.rules) as filters:
        through = {path for path, driver in filters.of(touched).items() if driver.cleans}
        if not through:
            return commit
        entries = _stored_again(base, lent, commit, through, filters)
    index = base.repository.path / f"clean.{secrets.token_hex(6)}.index"
    git = lent.at(index=index)
    try:
        git.run("read-tree", commit)
        lines = b"".join(b"%s %s\t%s\0" % (*entry, path) for path, entry in entries.items())
        git.run("update-index", "--replace", "-z", "--index-info", data=lines)
        tree = git.line("write-tree")
    finally:
        index.unlink(missing_ok=True)
    message = lent.run("log", "-1", "--format=%B", commit).decode("utf-8", "replace")
    return commit_tree(lent, tree, [base.snapshot.commit], message)


def _stored_again(base: Base, lent: Git, commit: str, paths: set[bytes], filters: Filters) -> dict[bytes, Entry]:
    """Blobs for those paths of a commit that are not as in the snapshot: what cannot be stored, as it was."""
    nothing = (b"0", b"0" * len(commit))
    found: dict[bytes, Entry] = {}
    contents: dict[bytes, bytes] = {}
    for entry in lent.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit).split(b"\0")[:-1]:
        facts, _, path = entry.partition(b"\t")
        mode, _, oid, size = facts.split()
        known = base.entries.files.get(path, nothing)
        if path not in paths or not mode.startswith(b"100") or oid == known[1]:
            continue
        found[path] = known
        if size.isdigit() and int(size) <= _LARGEST:
            contents[path] = lent.run("cat-file", "blob", oid)
    for path, oid in filters.store(contents).ids.items():
        found[path] = (found[path][0] if found[path][0] != b"0" else b"100644", oid)
    return found
