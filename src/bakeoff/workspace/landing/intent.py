"""Write-ahead intent: what is about to be done to the user's repository, so that after a kill the next one finishes it.

The intent is a file in their git directory, on disk before anything else is touched and gone when all is done. Whoever
does it holds a lock on the file, which the kernel lets go of when they die. The locks of git that they need (of the
index, of a branch) are links to it: so a lock that a kill left is known as bakeoff's own, and no other is ever removed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.workspace.blocking import current_stop
from bakeoff.workspace.errors import ApplyError
from bakeoff.workspace.repository.locks import FileLock, try_lock
from bakeoff.workspace.snapshot.project import Project

NAME = "bakeoff.intent"

PATIENCE = 30.0
"""Seconds for which another apply that is at work is waited for."""

_WITHOUT_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)


@dataclass(frozen=True, slots=True)
class Intent:
    """The write-ahead intent of one apply.

    Attributes:
        place: the file.
        token: names it and the files beside it.
        kind: `files`, `checkout` or `ref`.
        root: the work tree that it is about.
        git_dir: the git directory of that.
        locks: files that lock what it is about to change.
        facts: all else that is needed to do it again.
    """

    place: Path
    token: str
    kind: str
    root: Path
    git_dir: Path
    locks: tuple[Path, ...]
    facts: Mapping[str, str]

    def beside(self, suffix: str) -> Path:
        """A file of its own in the git directory, gone with it."""
        return self.git_dir / f"bakeoff-{self.token}.{suffix}"

    def same(self, other: Intent) -> bool:
        """Whether both want the same."""
        return (self.kind, self.root, dict(self.facts)) == (other.kind, other.root, dict(other.facts))

    def to_bytes(self) -> bytes:
        """As it stands in the file."""
        named = {"token": self.token, "kind": self.kind, "root": str(self.root), "git_dir": str(self.git_dir)}
        return json.dumps(named | {"locks": [str(path) for path in self.locks], "facts": dict(self.facts)}).encode()

    @classmethod
    def read(cls, place: Path) -> Intent | None:
        """The one in the file; None where there is none."""
        try:
            kept = json.loads(place.read_bytes())
            locks = tuple(Path(path) for path in kept["locks"])
            root, git_dir = Path(kept["root"]), Path(kept["git_dir"])
            return cls(place, str(kept["token"]), str(kept["kind"]), root, git_dir, locks, dict(kept["facts"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def unlock(self) -> None:
        """Remove its locks, so that git works again; it stays. A lock of another's stays, too."""
        own = self.to_bytes()
        for path in self.locks:
            with suppress(OSError):
                if path.read_bytes() == own:
                    path.unlink()

    def let_go(self) -> None:
        """Remove its locks and what it has beside; what is not its own stays."""
        self.unlock()
        for path in self.git_dir.glob(f"bakeoff-{self.token}.*"):
            path.unlink(missing_ok=True)


def interrupted(project: Project) -> Intent | None:
    """The intent of an apply that was killed in this repository; None where none was, or it is at work still."""
    place = project.common_dir / NAME
    try:
        lock = try_lock(place, create=False)
    except OSError:  # it is another user's
        return None
    if lock is None:
        return None
    try:
        return Intent.read(place)
    finally:
        lock.release()


def drop(project: Project, intent: Intent) -> None:
    """Forget an intent that was interrupted; its locks go, what it did stays."""
    lock = try_lock(intent.place, create=False)
    if lock is None:
        return
    found = Intent.read(intent.place)
    if found is not None and found.token == intent.token:
        found.let_go()
        lock.remove()
    lock.release()


@contextmanager
def intending(project: Project, kind: str, locks: Sequence[Path] = (), **facts: str) -> Iterator[Intent]:
    """While inside, nobody else applies anything to the repository, and `locks` are held; all of it is on disk first.

    An interrupted intent that wants the same is taken over. However the block is left, but by a kill, the intent and
    its locks are gone.

    Passes on ApplyError: somebody else is at work there, or was killed, and is not done for longer than `PATIENCE`.
    """
    place, token = project.common_dir / NAME, secrets.token_hex(8)
    intent = Intent(place, token, kind, project.root, project.git_dir, tuple(locks), facts)
    lock = _take_over(intent)
    try:
        for path in intent.locks:
            _lock(intent, path)
        yield intent
    finally:
        intent.let_go()
        lock.remove()


def _take_over(intent: Intent) -> FileLock:
    """The lock on the intent's file, which has the intent now.

    Raises:
        ApplyError: see `intending`.
    """
    until = time.monotonic() + PATIENCE
    while (held := _try_lock(intent)) is None:
        if time.monotonic() >= until:
            raise ApplyError(f"another bakeoff applies something to {intent.root}: wait for it; nothing was changed")
        current_stop().check(0.05)
    try:
        before = Intent.read(intent.place)
        if before is not None and not before.same(intent):
            run = before.facts.get("run") or "RUN"
            raise ApplyError(f"{said_of(before)}: `bakeoff apply {run}` finishes it; nothing was changed")
        if before is not None:
            before.let_go()
        return _put_down(intent)
    finally:
        held.release()


def _try_lock(intent: Intent) -> FileLock | None:
    """The lock on the intent's file; None while another has it.

    Raises:
        ApplyError: the git directory cannot be written.
    """
    try:
        return try_lock(intent.place)
    except OSError as failure:
        raise ApplyError(f"{intent.place} cannot be written: {failure.strerror}; nothing was changed") from failure


def _put_down(intent: Intent) -> FileLock:
    """Have the intent on disk in the place of what stands there; the lock on it is held before anybody can see it.

    Raises:
        ApplyError: there is no room for it.
    """
    fresh = intent.beside("new")
    for other in intent.git_dir.glob("bakeoff-*.new"):  # of one who was killed here: nobody else is at work
        other.unlink(missing_ok=True)
    try:
        descriptor = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        lock = FileLock(intent.place, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(descriptor, intent.to_bytes())
        os.fsync(descriptor)
        os.replace(fresh, intent.place)
        sync_folder(intent.place.parent)
        return lock
    except OSError as failure:
        fresh.unlink(missing_ok=True)
        raise ApplyError(f"{intent.place} cannot be written: {failure.strerror}; nothing was changed") from failure


def _lock(intent: Intent, path: Path) -> None:
    """Make the lock file `path` as git would, with all that it says at once.

    Raises:
        ApplyError: somebody else has it.
    """
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
        _link(intent, path)
    except FileExistsError as failure:
        raise ApplyError(
            f"{path} is there: another git is at work in {intent.root}, or was killed; nothing was changed. If none "
            "is, delete that file and say this again"
        ) from failure
    except OSError as failure:
        raise ApplyError(f"{path} cannot be made: {failure.strerror}; nothing was changed") from failure


def _link(intent: Intent, path: Path) -> None:
    """The same.

    Raises:
        OSError: something stands there, or nothing can be made there.
    """
    try:
        os.link(intent.place, path)
    except OSError as failure:
        if failure.errno not in _WITHOUT_LINKS:
            raise
        with open(path, "xb") as file:
            file.write(intent.to_bytes())


def sync_folder(folder: Path) -> None:
    """Have what was renamed into a folder, or out of it, on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def said_of(intent: Intent) -> str:
    """Description of an interrupted apply, for a person."""
    what = {"files": "applying a result", "checkout": "applying a merge"}.get(intent.kind, "making a branch")
    facts: dict[str, Any] = dict(intent.facts)
    of = f" of run {facts['run']}" if facts.get("run") else ""
    return f"{what}{of} to {intent.root} was interrupted"


def warning_of(project: Project) -> str | None:
    """Warning for a person whose half applied files are looked at; None where nothing was interrupted."""
    found = interrupted(project)
    if found is None or found.kind == "ref":
        return None
    said = f"{said_of(found)}: some of its files may be there and others not"
    return f"{said}; `bakeoff apply {found.facts.get('run') or 'RUN'}` finishes it"
