"""Where runs are kept: `.bakeoff/runs/ID/`, each with its journal, its own copy of its definition, logs and lock."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.engine.errors import BakeoffError, RunBusyError, RunNotFoundError
from bakeoff.engine.history import History
from bakeoff.engine.journal import read_entries
from bakeoff.engine.machine import network_file_system
from bakeoff.engine.record import RunStatus
from bakeoff.engine.salvage import read_whole

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


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
            RunBusyError: another live process owns it; the message names it.
            BakeoffError: the run's folder cannot be written.
        """
        try:
            descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as failure:
            raise BakeoffError(
                f"run {self.id} cannot go on: its folder {self.root} cannot be written: {failure.strerror}"
            ) from failure
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as failure:
            os.close(descriptor)
            raise RunBusyError(
                f"run {self.id} is being run by {self.owner() or 'another process'}; "
                f"watch it with `bakeoff watch {self.id}`, stop it with `bakeoff cancel {self.id}`"
            ) from failure
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        return Lock(descriptor)

    def owner(self) -> str | None:
        """Who owns the run now, for a message; None when nobody does."""
        if not self.alive():
            return None
        try:
            holder: dict[str, Any] = json.loads((self.root / "lock").read_text())
        except (OSError, ValueError):
            return "another process"
        return f"process {holder.get('pid')} on {holder.get('host')}"

    def alive(self) -> bool:
        """Whether a live process owns the run."""
        try:
            descriptor = os.open(self.root / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def history(self) -> History:
        """Everything the journal says now; the journal of a live run may be read too.

        Passes on JournalError: there is no journal, or it cannot be read at all.
        """
        try:
            return History(self.root).read(read_entries(self.journal))
        except sqlite3.DatabaseError:
            return History(self.root).read(read_whole(self.journal))

    def standing(self, history: History) -> tuple[RunStatus, str | None]:
        """The run's status and error as they are: a run that its owner left without a word is paused."""
        if history.status in (RunStatus.RUNNING, RunStatus.CREATED) and not self.alive():
            return RunStatus.PAUSED, "interrupted: the process that ran it is gone"
        return history.status, history.error

    def delete(self) -> None:
        """Remove the run and all it kept."""
        shutil.rmtree(self.root)


class RunStore:
    """The runs of one project."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.home = project / ".bakeoff"
        self.runs = self.home / "runs"

    def new_id(self) -> str:
        """An id that no run here has."""
        while True:
            name = secrets.token_hex(4)
            if not (self.runs / name).exists():
                return name

    def create(self, run_id: str) -> RunFolder:
        """Make the folder of a new run.

        Raises:
            BakeoffError: the id is malformed or taken, or the folder cannot be made.
        """
        if not _ID.fullmatch(run_id):
            raise BakeoffError(f"run id {run_id!r}: use letters, digits, `_` and `-`, beginning with a letter or digit")
        if kind := network_file_system(self.project):
            raise BakeoffError(
                f"{self.project} lies on a network file system ({kind}), where a journal cannot be kept safe; "
                "work in a local folder"
            )
        folder = RunFolder(self.runs / run_id)
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            ignore = self.home / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
            folder.root.mkdir(mode=0o700)
        except FileExistsError:
            raise BakeoffError(
                f"run {run_id} exists already in {self.runs}: choose another --run-id, "
                f"`bakeoff resume {run_id}`, or remove it with `bakeoff clean {run_id}`"
            ) from None
        except OSError as failure:
            raise BakeoffError(f"the run's folder {folder.root} cannot be made: {failure.strerror}") from failure
        return folder

    def open(self, run_id: str) -> RunFolder:
        """The folder of a run that exists.

        Raises:
            RunNotFoundError: there is none of that id here.
        """
        folder = RunFolder(self.runs / run_id)
        if not _ID.fullmatch(run_id) or not folder.journal.exists():
            known = ", ".join(folder.id for folder in self.latest(5)) or "none yet"
            raise RunNotFoundError(f"there is no run {run_id!r} under {self.runs}; the latest are: {known}")
        return folder

    def all(self) -> Iterator[RunFolder]:
        """Every run here, in no particular order; also those whose creation was cut short."""
        if self.runs.is_dir():
            for entry in os.scandir(self.runs):
                if entry.is_dir(follow_symlinks=False):
                    yield RunFolder(Path(entry.path))

    def latest(self, count: int) -> list[RunFolder]:
        """The runs that were created last, newest first."""
        by_age = sorted(self.all(), key=lambda folder: folder.root.stat().st_ctime, reverse=True)
        return [folder for folder in by_age if folder.journal.exists()][:count]


def find_project(start: Path) -> Path:
    """The nearest folder from `start` upwards that holds `.bakeoff`; `start` itself when none does."""
    for folder in (start, *start.parents):
        if (folder / ".bakeoff" / "runs").is_dir():
            return folder
    return start
