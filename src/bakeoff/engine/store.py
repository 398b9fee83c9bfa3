"""Where runs are kept: `.bakeoff/runs/ID/`, each with its journal, its own copy of its definition, logs and lock."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import socket
import sqlite3
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.engine.control import is_answered
from bakeoff.engine.history import History
from bakeoff.engine.journal import LONGEST_PATH, read_entries
from bakeoff.engine.record import RunStatus
from bakeoff.engine.salvage import read_whole
from bakeoff.errors import BakeoffError, JournalError, RunBusyError, RunNotFoundError
from bakeoff.system.folders import remove_tree
from bakeoff.system.machine import network_file_system, too_few_files
from bakeoff.system.ownership import check_owner

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
PROBES = 1000
"""Milliseconds for which somebody may look whether a run is owned, before that counts as owning it."""


@dataclass(slots=True)
class Lock:
    """The advisory lock of a run; while it is held its holder owns the run. The kernel lets go when the holder dies."""

    descriptor: int

    def release(self) -> None:
        """Let the run go."""
        os.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    root: Path

    @property
    def id(self) -> str:
        """The run's id."""
        return self.root.name

    @property
    def journal(self) -> Path:
        """The journal's file."""
        return self.root / "journal.db"

    @property
    def definition(self) -> Path:
        """The folder with the run's own copy of its definition."""
        return self.root / "definition"

    @property
    def logs(self) -> Path:
        """The folder with output that was too large, too long-lived or too odd to stand in the journal."""
        return self.root / "logs"

    def lock(self) -> Lock:
        """Own the run.

        Raises:
            BakeoffError: the run's folder is no folder of a run, or cannot be written; too few files may be open.

        Passes on RunBusyError: another live process owns it; the message names it.
        """
        if why := too_few_files():
            raise BakeoffError(why)
        try:
            while True:
                if self.root.is_symlink():
                    raise BakeoffError(f"{self.root} is a symbolic link, not a run's folder; look at where it leads")
                descriptor = self._open_lock(os.O_RDWR | os.O_CREAT)
                try:
                    if self._taken(descriptor):
                        break
                except BaseException:
                    os.close(descriptor)
                    raise
                os.close(descriptor)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        except OSError as failure:
            raise BakeoffError(
                f"run {self.id} cannot go on: its folder {self.root} cannot be written: {failure.strerror}"
            ) from failure
        return Lock(descriptor)

    def _open_lock(self, flags: int) -> int:
        # Neither a link nor a pipe that stands there leads elsewhere or is waited for.
        return os.open(self.root / "lock", flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)

    def _taken(self, descriptor: int) -> bool:
        """Whether the lock is ours now; False when another file stands at its path since it was opened.

        Raises:
            RunBusyError: another live process owns the run; also one whose lock was removed, but which still answers.
        """
        busy = (
            f"run {self.id} is being run by {{}}; "
            f"watch it with `bakeoff watch {self.id}`, stop it with `bakeoff cancel {self.id}`"
        )
        if not _locked(descriptor):
            raise RunBusyError(busy.format(self.owner() or "another process"))
        if is_answered(self.root):
            raise RunBusyError(busy.format("another process, though its lock was removed"))
        try:
            return os.path.samestat(os.fstat(descriptor), os.lstat(self.root / "lock"))
        except FileNotFoundError:
            return False

    def owner(self) -> str | None:
        """Who owns the run now, for a message; None when nobody does."""
        if not self.alive():
            return None
        try:
            descriptor = self._open_lock(os.O_RDONLY)
            with open(descriptor, encoding="utf-8") as file:
                holder: dict[str, Any] = json.load(file)
            return f"process {holder['pid']} on {holder['host']}"
        except (OSError, ValueError, TypeError, KeyError):
            return "another process"

    def alive(self) -> bool:
        """Whether a live process owns the run."""
        try:
            descriptor = self._open_lock(os.O_RDONLY)
        except OSError:
            return is_answered(self.root)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return is_answered(self.root)  # its lock may have been removed, and this be another's

    def history(self) -> History:
        """Everything the journal says now; the journal of a live run may be read too.

        Passes on JournalError: there is no journal, or it cannot be read at all.
        """
        self.check()
        try:
            history = History(self.root).read(read_entries(self.journal))
            if not history.damaged:
                return history
        except sqlite3.DatabaseError:
            pass
        return History(self.root).read(read_whole(self.journal))

    def begun(self) -> bool:
        """Whether there is a journal, of whatever sort; also where that cannot be seen."""
        try:
            self.journal.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    def check(self) -> None:
        """See that this is a folder of a run, which may be read.

        Raises:
            JournalError: it is not, or may not.

        Passes on OwnerError: it is another user's.
        """
        check_owner(self.root, self.journal, self.definition)
        try:
            mode = self.root.lstat().st_mode
        except OSError as failure:
            raise JournalError(f"cannot be read: {str(failure.strerror).lower()}: {self.root}") from None
        if not stat.S_ISDIR(mode):
            what = "a symbolic link" if stat.S_ISLNK(mode) else "a file"
            raise JournalError(f"{what}, not a run's folder: {self.root}")
        if not os.access(self.root, os.R_OK | os.X_OK):
            raise JournalError(f"cannot be read: permission denied: {self.root}")

    def status_and_error(self, history: History) -> tuple[RunStatus, str | None]:
        """The run's status and error as they are: a run that its owner left without a word is paused."""
        if history.status in (RunStatus.RUNNING, RunStatus.CREATED) and not self.alive():
            return RunStatus.PAUSED, "interrupted: the process that ran it is gone"
        return history.status, history.error

    def delete(self) -> None:
        """Remove the run and all it kept."""
        remove_tree(self.root)


class RunStore:
    """The runs of one project.

    Passes on OwnerError: its `.bakeoff` is another user's.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self.home = project / ".bakeoff"
        self.runs = self.home / "runs"
        check_owner(self.home, self.runs)

    def new_id(self) -> str:
        """An id that no run here has."""
        while True:
            name = secrets.token_hex(4)
            if not (self.runs / name).exists():
                return name

    def create(self, run_id: str) -> RunFolder:
        """Make the folder of a new run.

        Raises:
            BakeoffError: the id is malformed or taken, or the folder cannot be made; too few files may be open.
        """
        if why := too_few_files():
            raise BakeoffError(why)
        if not _ID.fullmatch(run_id):
            raise BakeoffError(f"run id {run_id!r}: use letters, digits, `_` and `-`, beginning with a letter or digit")
        if kind := network_file_system(self.project):
            raise BakeoffError(
                f"{self.project} lies on a network file system ({kind}), where a journal cannot be kept safe; "
                "work in a local folder"
            )
        folder = RunFolder(self.runs / run_id)
        size = len(os.fsencode(folder.journal.absolute()))
        if size > LONGEST_PATH:
            raise BakeoffError(
                f"the path of the run's journal, {folder.journal}, would have {size} bytes, and {LONGEST_PATH} is the "
                "most: work in a folder with a shorter path, or choose a shorter --run-id"
            )
        self._make_home()
        try:
            folder.root.mkdir(mode=0o700)
        except FileExistsError:
            raise BakeoffError(
                f"run {run_id} exists already in {self.runs}: choose another --run-id, "
                f"`bakeoff resume {run_id}`, or remove it with `bakeoff clean {run_id}`"
            ) from None
        except OSError as failure:
            raise BakeoffError(f"the run's folder {folder.root} cannot be made: {failure.strerror}") from failure
        return folder

    def _make_home(self) -> None:
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            ignore = self.home / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
        except OSError as failure:
            reason = str(failure.strerror).lower()
            for place in (self.runs, self.home):
                if place.is_symlink() and not os.path.exists(place):
                    reason = f"{place} is a symbolic link that leads nowhere; remove it, or make what it names"
                elif os.path.lexists(place) and not os.path.isdir(place):
                    reason = f"{place} is not a folder; move it out of the way"
            raise BakeoffError(f"the folder for runs {self.runs} cannot be made: {reason}") from failure

    def open(self, run_id: str) -> RunFolder:
        """The folder of a run that exists.

        Raises:
            RunNotFoundError: there is none of that id here.

        Passes on JournalError: what stands there is no folder of a run, or may not be read.
        """
        folder = RunFolder(self.runs / run_id)
        if _ID.fullmatch(run_id) and os.path.lexists(folder.root):
            folder.check()
        if not _ID.fullmatch(run_id) or not folder.begun():
            known = ", ".join(folder.id for folder in self.latest(5)) or "none yet"
            raise RunNotFoundError(f"there is no run {run_id!r} under {self.runs}; the latest are: {known}")
        return folder

    def all(self) -> Iterator[RunFolder]:
        """Every run here, in no particular order; also those whose creation was cut short, and symbolic links.

        Raises:
            BakeoffError: the folder of all runs cannot be read.
        """
        try:
            entries = list(os.scandir(self.runs)) if os.path.isdir(self.runs) else []
        except OSError as failure:
            raise BakeoffError(f"the runs under {self.runs} cannot be read: {failure.strerror}") from failure
        for entry in entries:
            if entry.is_symlink() or entry.is_dir(follow_symlinks=False):
                yield RunFolder(Path(entry.path))

    def latest(self, count: int) -> list[RunFolder]:
        """The runs that were created last, newest first."""
        newest = sorted(self.all(), key=_changed, reverse=True)
        return [folder for folder in newest if folder.begun()][:count]


def _changed(folder: RunFolder) -> tuple[bool, float]:
    try:
        return by_age(folder.root.lstat().st_ctime)
    except OSError:  # it went away
        return by_age(0.0)


def by_age(moment: float) -> tuple[bool, float]:
    """Sort key of moments from old to new; one in the future, of a wrong clock, counts as older than the rest."""
    return moment <= time.time(), moment


def find_project(start: Path) -> Path:
    """The nearest folder from `start` upwards that holds `.bakeoff`; `start` itself when none does.

    The search ends at the top of a git work tree, and at the home folder: what lies above is another project's.
    """
    home = Path.home() if "HOME" in os.environ else None
    for folder in (start, *start.parents):
        if os.path.isdir(folder / ".bakeoff" / "runs"):
            return folder
        if folder == home or os.path.lexists(folder / ".git"):
            break
    return start


def _locked(descriptor: int) -> bool:
    """Take a lock; not even while others look whether it is taken (see `RunFolder.alive`) is it another's."""
    for _ in range(PROBES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            pass
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(0.001)
    return False
