"""Salvage: no work is deleted before a ref keeps it: uncommitted files, and commits an agent made."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from bakeoff.system.folders import walk
from bakeoff.system.temporary import scratch_folder
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.files import RefusedError, is_hollow, open_regular, read_small
from bakeoff.workspace.filters.filters import cleaned_commit
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.repository import SALVAGE, Repository, ref_part
from bakeoff.workspace.results.changes import Changes
from bakeoff.workspace.results.results import Result, commit_changes, keep_or_drop
from bakeoff.workspace.slots.base import Base

_NO_LIMIT = 1 << 62
_MOST_TIPS = 200
_MOST_IDS = 100_000
_MOST_FILES = 500_000
_LONGEST_LOG = 16 << 20
_MOST_READ = 256 << 20
"""Bytes that are read of files that name commits."""
_MOST_BYTES = 8 << 30
"""Bytes of objects that are taken, as they are stored and as they are."""
_OBJECT = re.compile(rb"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_OBJECT_FILE = re.compile(rb"objects/(?:[0-9a-f]{2}/[0-9a-f]{38,62}|pack/pack-[0-9a-f]{40,64}\.(?:pack|idx))")
_OBJECT_FOLDER = re.compile(rb"[0-9a-f]{2}|pack")
_HEADS = frozenset((b"HEAD", b"ORIG_HEAD", b"packed-refs"))
_REFS = frozenset((b"refs", b"logs"))
_TOPS = _REFS | {b"objects", b"worktrees"}
_FRUGAL = ("core.bigFileThreshold=16m", "core.packedGitLimit=1g", "pack.threads=1", "pack.windowMemory=256m")


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


def salvage_commits(base: Base, run: str, slot: str, folder: Path, known: Iterable[str]) -> list[str]:
    """Keep the commits that an agent made in its slot's repository `folder`.

    Returns the refs of those that have work which is in no tree of `known`. That repository is read as files, copied
    and checked: git never runs in it, so its configuration means nothing.

    Raises:
        WorkspaceError: there is too much in it.
    """
    named, objects = _inside(folder)
    tips = _unknown(base.repository.git(), _tips(folder, named))
    if not tips or not objects:
        return []
    with scratch_folder(".commits.", base.repository.path) as place:
        copied = Path(place, "objects")
        _copy_objects(folder, objects, copied)
        git = base.repository.git()
        lent = _frugal(git).at(alternates=(copied,))
        found = _new_commits(lent, tips)
        if not found:
            return []
        size = _size(lent, _asked(found, base))
        if size > _MOST_BYTES:
            raise WorkspaceError(f"the commits made in {folder} hold {size >> 20} MiB, more than {_MOST_BYTES >> 20}")
        new = {tip: cleaned_commit(base, lent, tip) for tip in found}
        at = _head(folder, base.snapshot.branch or "bakeoff")
        went_on = {new[tip] for tip in new if at is not None and _is_above(lent, tip, at)}
        packing = ("pack-objects", "--quiet", "--revs", "--missing=allow-any", f"{place}/pack")
        name = lent.run(*packing, data=_asked(new.values(), base)).decode().strip()
        with open(f"{place}/pack-{name}.pack", "rb") as pack:
            checking = _frugal(git)
            pour = partial(shutil.copyfileobj, pack, length=1 << 20)
            checking.feed("index-pack", "--stdin", "--strict", write=pour)
    refs = []
    results = [_changes(git, base.snapshot.tree, tree) for tree in dict.fromkeys((base.snapshot.tree, *known))]
    for oid in dict.fromkeys(new.values()):
        ref = f"{salvage_name(run, slot)}-commit"
        base.repository.set_ref(ref, oid)
        made = _changes(git, base.snapshot.tree, oid)
        if not any(_has_all(result, made, oid in went_on) for result in results):
            refs.append(ref)
    return refs


def _frugal(git: Git) -> Git:
    """It works on objects that others wrote: what is large is streamed, and nothing takes all memory."""
    return git.at(config=(*git.config, *_FRUGAL), env={**git.env, "GIT_ALLOC_LIMIT": str(1 << 30)})


def _asked(commits: Iterable[str], base: Base) -> bytes:
    """Arguments of git that select all that is new in the commits."""
    return "".join(f"{oid}\n" for oid in [*commits, f"^{base.snapshot.commit}"]).encode()


def _is_above(git: Git, lower: str, upper: str) -> bool:
    return git.both("merge-base", "--is-ancestor", lower, upper, statuses=(0, 1, 128))[0] == 0


_GONE = b"000000"


def _changes(git: Git, before: str, after: str) -> dict[bytes, tuple[bytes, bytes]]:
    """Mode and object of each path in which a tree or commit differs from another; mode 000000 for one that is gone."""
    ends = (f"{before}^{{tree}}", f"{after}^{{tree}}")
    parts = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", *ends).split(b"\0")
    facts = (entry.split(b" ") for entry in parts[::2] if entry)
    return {path: (fact[1], fact[3]) for fact, path in zip(facts, parts[1::2], strict=True)}


def _has_all(result: dict[bytes, tuple[bytes, bytes]], made: dict[bytes, tuple[bytes, bytes]], went_on: bool) -> bool:
    """Whether a result has what a commit made; where work `went_on` from that, it may have another version of it."""
    return all(
        path in result and (result[path] == there or (went_on and result[path][0] != _GONE))
        for path, there in made.items()
    )


def _head(folder: Path, branch: str) -> str | None:
    """The commit that an agent's repository stands at; an overlay has its HEAD only where that was changed."""
    said = _read(folder, b"HEAD") or b"ref: refs/heads/" + os.fsencode(branch)
    if said.startswith(b"ref: refs/") and b".." not in said:
        said = _read(folder, said[5:].strip()) or b""
    found = _OBJECT.match(said)
    return None if found is None else found[0].decode()


def _read(folder: Path, path: bytes) -> bytes | None:
    return read_small(folder.parent, os.fsencode(folder.name) + b"/" + path, _LONGEST_LOG)


def _inside(folder: Path) -> tuple[list[bytes], list[tuple[bytes, int]]]:
    """Files of a repository that name commits, and files that look like objects, with their sizes; no link is followed.

    Raises:
        WorkspaceError: there are too many of them.
    """
    named: list[bytes] = []
    objects: list[tuple[bytes, int]] = []
    try:
        for inner in walk(folder):
            top = inner.path.partition(b"/")[0]
            if not inner.path:
                inner.inner = [name for name in inner.inner if name in _TOPS]
            elif top == b"objects":
                inner.inner = [name for name in inner.inner if inner.path == top and _OBJECT_FOLDER.fullmatch(name)]
            for name, status in inner.entries:
                path = inner.below(name)
                if not stat.S_ISREG(status.st_mode):
                    continue
                if top == b"objects":
                    if _OBJECT_FILE.fullmatch(path) and not is_hollow(status, 1 << 20):
                        objects.append((path, status.st_size))
                elif path in _HEADS or (top == b"worktrees" and (b"/logs/" in path or name == b"HEAD")) or top in _REFS:
                    named.append(path)
            if len(named) + len(objects) > _MOST_FILES:
                raise WorkspaceError(f"there are more than {_MOST_FILES} files in {folder}")
    except NotADirectoryError:  # the agent made it a file, or a link
        return [], []
    except FileNotFoundError:
        return [], []
    return named, objects


def _tips(folder: Path, named: Iterable[bytes]) -> list[str]:
    """Object ids that refs or their logs name."""
    found: dict[bytes, None] = {}
    room = _MOST_READ
    for path in named:
        text = read_small(folder.parent, os.fsencode(folder.name) + b"/" + path, min(_LONGEST_LOG, room)) or b""
        room -= len(text)
        found.update(dict.fromkeys(oid for oid in _OBJECT.findall(text) if oid.strip(b"0")))
        if room <= 0 or len(found) > _MOST_IDS:
            break
    return [oid.decode() for oid in list(found)[:_MOST_IDS]]


def _copy_objects(folder: Path, objects: Iterable[tuple[bytes, int]], target: Path) -> None:
    """Copy files that look like objects or packs.

    Raises:
        WorkspaceError: they are too large together.
    """
    (target / "info").mkdir(parents=True)
    room = _MOST_BYTES
    for path, size in objects:
        room -= size
        if room < 0:
            raise WorkspaceError(f"there is more than {_MOST_BYTES >> 20} MiB in {folder}")
        place = target / os.fsdecode(path.partition(b"/")[2])
        place.parent.mkdir(exist_ok=True)
        try:
            with (
                open_regular(folder.parent, os.fsencode(folder.name) + b"/" + path, size) as (descriptor, _),
                place.open("wb") as copy,
            ):
                at = 0
                while part := os.pread(descriptor, min(size - at, 1 << 20), at):
                    copy.write(part)
                    at += len(part)
        except FileNotFoundError:
            continue
        except RefusedError:
            continue


def _size(lent: Git, asked: bytes) -> int:
    """Bytes of all objects that are to be taken, as far as they are there, by what their headers say."""
    listed = lent.run("rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--stdin", data=asked)
    sizes = lent.run("cat-file", "--batch-check=%(objectsize)", data=listed).splitlines()
    return sum(int(size) for size in sizes if size.isdigit())


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
