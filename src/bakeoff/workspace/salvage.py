"""Work is never deleted before a ref of bakeoff's repository keeps it: uncommitted files, and commits an agent made."""

from __future__ import annotations

import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from bakeoff.workspace.changes import Changes
from bakeoff.workspace.files import RefusedError, open_regular, read_exactly, read_small
from bakeoff.workspace.git import Git
from bakeoff.workspace.repository import SALVAGE, Repository, ref_part
from bakeoff.workspace.results import Result, commit_changes, keep_or_drop
from bakeoff.workspace.trees import Base

_NO_LIMIT = 1 << 62
_MOST_TIPS = 200
_LONGEST_LOG = 16 << 20
_OBJECT = re.compile(rb"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_OBJECT_FILE = re.compile(r"[0-9a-f]{2}/[0-9a-f]{38,62}|pack/pack-[0-9a-f]{40,64}\.(pack|idx)")


def salvage_name(run: str, slot: str) -> str:
    """A new ref for work of a slot of a run."""
    moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    return f"{SALVAGE}/{ref_part(run)}/{ref_part(slot)}-{moment}-{secrets.token_hex(3)}"


def salvage_files(base: Base, run: str, slot: str, changes: Changes, known: Iterable[str]) -> Result | None:
    """Keep the files of a slot, unless nothing changed or a tree in `known` holds the same. To be called in a thread.

    Ignored files are left out. Files of any size are kept.
    """
    if not changes.files and not changes.gone and not changes.folders:
        return None
    ref = salvage_name(run, slot)
    result = commit_changes(base, changes, ref, f"Salvaged from slot {slot} of run {run}", _NO_LIMIT)
    return result if keep_or_drop(base, result, {base.snapshot.tree, *known}) else None


def known_trees(repository: Repository, run: str) -> set[str]:
    """The trees of the results of a run."""
    prefix = f"refs/bakeoff/{ref_part(run, ('snapshots', 'salvage'))}"
    return set(repository.git().run("for-each-ref", "--format=%(tree)", prefix).decode().split())


def salvage_commits(base: Base, run: str, slot: str, folder: Path) -> list[str]:
    """Keep the commits that an agent made in its slot's repository `folder`; returns their refs.

    That repository is read as files, copied and checked: git never runs in it, so its configuration means nothing.
    """
    tips = _unknown(base.repository.git(), _tips(folder))
    if not tips:
        return []
    with tempfile.TemporaryDirectory(prefix=".commits.", dir=base.repository.path) as place:
        copied = _copy_objects(folder / "objects", Path(place))
        if not copied:
            return []
        git = base.repository.git()
        lent = git.at(alternates=(Path(place),))
        new = _new_commits(lent, tips)
        if not new:
            return []
        asked = "".join(f"{oid}\n" for oid in new) + f"--not\n{base.snapshot.commit}\n"
        pack = lent.run("pack-objects", "--quiet", "--revs", "--stdout", "--missing=allow-any", data=asked.encode())
        git.run("index-pack", "--stdin", "--strict", data=pack)
    refs = []
    for oid in new:
        ref = f"{salvage_name(run, slot)}-commit"
        base.repository.set_ref(ref, oid)
        refs.append(ref)
    return refs


def _tips(folder: Path) -> list[str]:
    """Every object id that a ref or its log names."""
    found: dict[str, None] = {}
    for name in ("HEAD", "ORIG_HEAD", "packed-refs"):
        _gather(found, read_small(folder, name.encode()))
    for top in ("refs", "logs", "worktrees"):
        for path in _files(folder, top):
            if top != "worktrees" or "/logs/" in path or path.endswith("HEAD"):
                _gather(found, read_small(folder, os.fsencode(path), _LONGEST_LOG))
    return list(found)


def _gather(found: dict[str, None], text: bytes | None) -> None:
    found.update(dict.fromkeys(oid.decode() for oid in _OBJECT.findall(text or b"") if oid.strip(b"0")))


def _files(root: Path, top: str) -> list[str]:
    """Regular files below `root/top`, relative to `root`; links are not followed."""
    found = []
    for folder, _, names in os.walk(root / top):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                found.append(os.path.relpath(path, root))
    return found


def _copy_objects(source: Path, target: Path) -> int:
    """Copy what looks like an object or a pack; returns how many."""
    copied = 0
    for path in _files(source, "."):
        if not _OBJECT_FILE.fullmatch(path):
            continue
        place = target / path
        place.parent.mkdir(exist_ok=True)
        try:
            with open_regular(source, os.fsencode(path)) as (descriptor, found):
                place.write_bytes(read_exactly(descriptor, found.st_size))
            copied += 1
        except (OSError, RefusedError):
            continue
    return copied


_CHECK = ("cat-file", "--batch-check=%(objectname) %(objecttype)")


def _unknown(git: Git, tips: list[str]) -> list[str]:
    """Those of `tips` that bakeoff does not have."""
    if not tips:
        return []
    lines = git.run(*_CHECK, data="".join(f"{oid}\n" for oid in tips).encode()).decode().splitlines()
    return [oid for oid, line in zip(tips, lines, strict=True) if line.endswith(" missing")]


def _new_commits(lent: Git, tips: list[str]) -> list[str]:
    """Those of `tips` that are commits which no other of them holds already."""
    lines = lent.run(*_CHECK, data="".join(f"{oid}\n" for oid in tips).encode()).decode().splitlines()
    new = [line.partition(" ")[0] for line in lines if line.endswith(" commit")][:_MOST_TIPS]
    return new if len(new) < 2 else lent.run("merge-base", "--independent", *new).decode().split()
