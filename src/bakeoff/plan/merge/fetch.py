"""Fetch of commits into bakeoff's repository: by any name that git knows, with their history."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.plan.merge.chain import Change
from bakeoff.workspace.errors import GitError
from bakeoff.workspace.repository.repository import Repository, object_directories, ref_name
from bakeoff.workspace.snapshot.project import Project
from bakeoff.workspace.snapshot.snapshot import Snapshot, take_snapshot


@dataclass(frozen=True, slots=True)
class Brought:
    """Commits that a run merges; they stay the same when branches move meanwhile.

    Attributes:
        snapshot: what all is merged onto; its commit is the user's own.
        changes: what is merged, in order.
    """

    snapshot: Snapshot
    changes: tuple[Change, ...]

    def to_json(self) -> dict[str, Any]:
        """As the run keeps it."""
        changes = [{"name": change.name, "commit": change.commit} for change in self.changes]
        return {"snapshot": asdict(self.snapshot) | {"left_out": []}, "changes": changes}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Brought:
        """The same out of what `to_json` gave."""
        snapshot = Snapshot(**{**kept["snapshot"], "left_out": ()})
        return cls(snapshot, tuple(Change(**change) for change in kept["changes"]))


def find_commits(project: Project, base: str, refs: Sequence[str]) -> list[str]:
    """The commits that the names stand for. Blocks.

    Raises:
        BakeoffError: one is no commit, or is named twice, or nothing is committed yet.
    """
    onto, *found = _commits(project, [base, *refs])
    if onto is None and base == "HEAD":
        raise BakeoffError(f"{project.root} has no commit yet that anything could be merged onto")
    if onto is None:
        raise BakeoffError(f"--base: {base!r} is no commit of {project.root}")
    for ref, commit in zip(refs, found, strict=True):
        if commit is None:
            raise BakeoffError(f"{ref!r} is no branch and no commit of {project.root}; nothing was merged")
        if refs.count(ref) > 1:
            raise BakeoffError(f"{ref!r} is named twice; nothing was merged")
    return [commit for commit in found if commit is not None]


def _commits(project: Project, names: Sequence[str]) -> list[str | None]:
    """Commits of the names, asked for at once; None for what is no commit, or no name at all."""
    asked = "".join(f"{'.' if chr(10) in name else name}^{{commit}}\n" for name in names)
    lines = project.git().run("cat-file", "--batch-check=%(objectname) %(objecttype)", data=os.fsencode(asked))
    found = [line.split(b" ") for line in lines.splitlines()]
    return [oid.decode() if kind == [b"commit"] else None for oid, *kind in found]


def bring(project: Project, repository: Repository, run: str, base: str, refs: Sequence[str]) -> Brought:
    """Fetch the commits with all their history into bakeoff's repository, each kept by a ref of the run. Blocks.

    Passes on BakeoffError: as for `find_commits`.
    """
    commits = find_commits(project, base, refs)
    snapshot = take_snapshot(project, repository, base=base)
    assert snapshot.head is not None
    if not snapshot.linked:
        # The user's objects lie where no hard link leads to: they are copied.
        git = project.git().at(objects=repository.objects, alternates=object_directories(project))
        wanted = "".join(f"{commit}\n" for commit in (snapshot.head, *commits)).encode()
        git.run("pack-objects", "--quiet", "--revs", str(repository.objects / "pack" / "pack"), data=wanted)
        snapshot = replace(snapshot, commit=snapshot.head, linked=True)
    keep(repository, run, {"base": snapshot.commit, **{f"result-{n}": c for n, c in enumerate(commits, 1)}})
    index_history(repository, [snapshot.commit, *commits])
    changes = tuple(Change(ref, commit) for ref, commit in zip(refs, commits, strict=True))
    return Brought(snapshot, changes)


def keep(repository: Repository, run: str, commits: Mapping[str, str]) -> None:
    """Keep commits at refs of the run, by name. Blocks."""
    lines = "".join(f"update {ref_name(run, name)} {commit}\n" for name, commit in commits.items())
    repository.git().run("update-ref", "--stdin", data=lines.encode())


def index_history(repository: Repository, commits: Sequence[str]) -> None:
    """Write a commit-graph of what leads to these: merge bases are found twenty times faster with it. Blocks."""
    try:
        data = "".join(f"{commit}\n" for commit in commits).encode()
        repository.git().run("commit-graph", "write", "--split", "--stdin-commits", data=data)
    except GitError:  # a shallow history, or another run that writes it just now: it goes without
        return
