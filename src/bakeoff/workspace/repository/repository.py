"""bakeoff's own bare repository of a project: it has the user's objects by hard links, so no gc of theirs breaks it."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bakeoff.workspace.repository.cache import ProjectCache
from bakeoff.workspace.repository.git import Git
from bakeoff.workspace.repository.locks import wait_for_lock
from bakeoff.workspace.snapshot.project import Project

SNAPSHOTS = "refs/bakeoff/snapshots"
SALVAGE = "refs/bakeoff/salvage"
_OURS = ("snapshots", "salvage")
_HEX = [f"{number:02x}" for number in range(256)]


@dataclass(frozen=True, slots=True)
class Repository:
    """bakeoff's bare repository of a project: snapshots, results and salvaged work.

    Attributes:
        path: the git directory.
        object_format: `sha1` or `sha256`, as the user's repository.
        lent: further folders of objects that its git sees.
    """

    path: Path
    object_format: str = "sha1"
    lent: tuple[Path, ...] = ()

    @property
    def objects(self) -> Path:
        """Its object directory."""
        return self.path / "objects"

    def git(self) -> Git:
        """The git of this repository; commits are bakeoff's own, and no configuration of the user's is read."""
        who = {f"GIT_{role}_{part}": text for role in ("AUTHOR", "COMMITTER") for part, text in _WHO.items()}
        return Git(directory=self.path, env=who, cwd=self.path, alternates=self.lent)

    def git_for(self, project: Project, tree: Path, index: Path | None = None, *, filters: bool = True) -> Git:
        """The user's git, with their conversions and content filters, for the files in `tree` and our objects.

        Filter programs find the user's work tree and git directory, as git-crypt and LFS have to.
        """
        git = project.git(filters=filters)
        theirs = [setting for driver in project.filters for setting in driver.at(project.root)] if filters else []
        return git.at(
            work_tree=tree,
            index=index,
            objects=self.objects,
            alternates=object_directories(project),
            config=(*git.config, *theirs, *_ELSEWHERE),
            cwd=tree,
        )

    def link(self, project: Project) -> bool:
        """Hard-link the user's objects into this repository; False where their file system or owner forbids it.

        Raises:
            OSError: it cannot be written.
        """
        for source in object_directories(project):
            for _ in range(10):
                try:
                    self._link(source)
                    break
                except FileNotFoundError:  # their gc is at work: look again
                    continue
                except OSError as failure:
                    if failure.errno in (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP):
                        return False
                    raise
        self._shallow(project)
        return True

    def _link(self, source: Path) -> None:
        for name in _HEX:
            theirs = _names(source / name)
            if not theirs:
                continue
            ours = self.objects / name
            for missing in theirs - _names(ours):
                if len(missing) in (38, 62):
                    ours.mkdir(exist_ok=True)
                    _link(source / name / missing, ours / missing)
        packs = _names(source / "pack")
        missing_packs = packs - _names(self.objects / "pack")
        # A pack is known by its index: that one comes last.
        for suffix in (".pack", ".rev", ".promisor", ".idx"):
            for name in missing_packs:
                if name.startswith("pack-") and name.endswith(suffix) and f"{name[: -len(suffix)]}.idx" in packs:
                    _link(source / "pack" / name, self.objects / "pack" / name)

    def _shallow(self, project: Project) -> None:
        theirs, ours = project.common_dir / "shallow", self.path / "shallow"
        if theirs.is_file():
            known = set(ours.read_text().split()) if ours.exists() else set()
            wanted = known | set(theirs.read_text().split())
            if wanted != known:
                fresh = ours.with_name(f"shallow.{secrets.token_hex(4)}")
                fresh.write_text("".join(f"{oid}\n" for oid in sorted(wanted)))
                os.replace(fresh, ours)

    def set_ref(self, name: str, oid: str) -> None:
        """Let the ref `name` stand at `oid`."""
        self.git().run("update-ref", name, oid)

    def refs(self, prefix: str) -> dict[str, str]:
        """The refs below `prefix` with what they stand at."""
        out = self.git().run("for-each-ref", "--format=%(objectname) %(refname)", prefix)
        return {name: oid for oid, _, name in (line.partition(" ") for line in out.decode().splitlines())}

    def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        return self.git().line("rev-parse", "--verify", f"{commit}^{{tree}}")


_ELSEWHERE = ("core.sparseCheckout=false", "index.sparse=false", "core.ignoreStat=false", "core.safecrlf=false")
"""Settings that say something of the user's own work tree only, taken back."""

_WHO = {"NAME": "bakeoff", "EMAIL": "bakeoff@localhost"}


def open_repository(cache: ProjectCache, object_format: str) -> Repository:
    """Our repository in `cache`, made when it is not there. To be called in a thread."""
    found = Repository(cache.repository, object_format)
    if found.path.is_dir():
        return found
    lock = wait_for_lock(cache.kept / "repository.lock")
    try:
        if not found.path.is_dir():
            fresh = cache.kept / f".new.{secrets.token_hex(6)}"
            make = ("init", "--quiet", "--bare", "--template=", "--initial-branch=none")
            Git(cwd=cache.kept).run(*make, f"--object-format={object_format}", str(fresh))
            (fresh / "info").mkdir(exist_ok=True)
            fresh.rename(found.path)
    finally:
        lock.release()
    return found


def object_directories(project: Project) -> list[Path]:
    """The user's object directories: the repository's own, and those that it borrows from."""
    found: list[Path] = []
    waiting = [project.common_dir / "objects"]
    while waiting:
        place = Path(os.path.realpath(waiting.pop()))
        if place in found or not place.is_dir():
            continue
        found.append(place)
        with suppress(OSError):
            lines = os.fsdecode((place / "info" / "alternates").read_bytes()).splitlines()
            waiting += [place / line for line in lines if line and not line.startswith("#")]
    return found


def ref_name(run: str, name: str) -> str:
    """The ref of the result `name` of the run `run`."""
    return f"refs/bakeoff/{ref_part(run, _OURS)}/{ref_part(name)}"


def ref_part(text: str, taken: tuple[str, ...] = ()) -> str:
    """`text` as one part of a ref's name; where it cannot be one as it is, with a digest that keeps it apart."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", text) and text not in taken:
        return text
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:60] or "x"
    return f"{plain}-{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def _names(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except FileNotFoundError:
        return set()


def _link(source: Path, target: Path) -> None:
    with suppress(FileExistsError):
        os.link(source, target)


def disk_bytes(path: Path, limit: int | None = None) -> int:
    """Bytes on disk below `path`, counted to just above `limit`; a file with two names counts once."""
    return sum(_sizes(path, set(), limit))


def _sizes(path: Path, seen: set[tuple[int, int]], limit: int | None) -> Iterator[int]:
    total = 0
    waiting = [str(path)]
    while waiting and (limit is None or total <= limit):
        try:
            entries = os.scandir(waiting.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                try:
                    found = entry.stat(follow_symlinks=False)
                except OSError:  # it went away meanwhile
                    continue
                if found.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                    if (found.st_dev, found.st_ino) in seen:
                        continue
                    seen.add((found.st_dev, found.st_ino))
                total += found.st_blocks * 512
                yield found.st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
