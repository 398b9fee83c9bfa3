"""The journal: what happened in a run, appended, checksummed, committed in groups by one writer thread.

Cost per entry is constant: nothing is ever rewritten. The writer never waits for the work and the work's
bound never holds a place the writer needs, so a bound cannot starve the journal.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import anyio

from bakeoff.engine import ballast
from bakeoff.engine.loop import loop_caller
from bakeoff.errors import JournalError

SCHEMA_VERSION = 1

_PLAUSIBLE = 100
"""Formats above this are not a newer bakeoff's but damage."""

LONGEST_PATH = 500
"""Bytes of a journal's path: SQLite takes 512, and makes files beside it with longer names."""

_WIDEST_GAP = 1_000_000
"""Missing numbers in a row above which a number is damaged rather than the entries before it lost."""

PAGE_SIZE = 1024
"""Small: a commit writes whole pages, and a group is often a single row of some 300 bytes."""

_PRAGMAS = (
    f"PRAGMA page_size={PAGE_SIZE}",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA fullfsync=1",
    "PRAGMA wal_autocheckpoint=4000",
)
BALLAST = 256 << 10
"""Bytes that a journal holds beside it while it is written, for its last entries on a disk that others have filled."""

_TABLE = "CREATE TABLE entry (seq INTEGER PRIMARY KEY, kind TEXT, path TEXT, body TEXT, sum INTEGER)"
_INSERT = "INSERT INTO entry (kind, path, body, sum) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal. `kind` says what the JSON text `body` means; see `history`."""

    seq: int
    kind: str
    path: str
    body: str


def checksum(kind: str, path: str, body: str) -> int:
    """The checksum that stands beside an entry."""
    return zlib.crc32(f"{kind}\0{path}\0{body}".encode("utf-8", "surrogatepass"))


class Batch:
    """Entries that will be committed together."""

    __slots__ = ("done", "error", "files", "rows")

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str, int]] = []
        self.files: list[str] = []
        self.done = anyio.Event()
        self.error: JournalError | None = None

    async def committed(self) -> None:
        """Wait until the entries are on disk. Cancelled, it returns early; they are written all the same.

        Passes on JournalError: they could not be written.
        """
        if not self.done.is_set():
            await self.done.wait()
        if self.error is not None:
            raise self.error


class CommitQueue:
    """Results that are done but not yet on disk, of siblings whose place need not wait for the disk.

    At most `limit` of them: a slow journal holds the siblings up, instead of falling ever further behind.
    """

    __slots__ = ("_batches", "_limit")

    def __init__(self, limit: int) -> None:
        self._batches: deque[Batch] = deque()
        self._limit = limit

    async def add(self, batch: Batch) -> None:
        """Take one more in; waits for the oldest when there are too many.

        Passes on JournalError: the oldest could not be written.
        """
        self._batches.append(batch)
        if len(self._batches) > self._limit:
            await self._batches.popleft().committed()

    async def drained(self) -> None:
        """Wait until all are on disk.

        Passes on JournalError: one could not be written.
        """
        while self._batches:
            await self._batches.popleft().committed()


class Journal(Protocol):
    """Where a run writes what happened; memory in simulations and for runs that need not survive."""

    def append(self, kind: str, path: str, body: str, files: Iterable[str] = ()) -> Batch:
        """Queue one entry, in order, to be committed soon; `files` are synced to disk before it.

        Raises:
            JournalError: an earlier entry could not be written; the journal takes nothing more.
        """
        ...

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        ...


class NoJournal:
    """Keeps nothing, for work that need not survive; calls every entry committed at once."""

    def __init__(self) -> None:
        self._done = Batch()
        self._done.done.set()

    def append(self, kind: str, path: str, body: str, files: Iterable[str] = ()) -> Batch:
        """Forget one entry."""
        return self._done

    def close(self) -> None:
        """Nothing to let go of."""


class MemoryJournal:
    """Keeps entries in memory and calls them committed at once."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._done = Batch()
        self._done.done.set()

    def append(self, kind: str, path: str, body: str, files: Iterable[str] = ()) -> Batch:
        """Keep one entry."""
        self.entries.append(Entry(len(self.entries) + 1, kind, path, body))
        return self._done

    def close(self) -> None:
        """Nothing to let go of."""


class SqliteJournal:
    """One SQLite file in WAL mode. Construct it inside the event loop that will append to it.

    Raises:
        JournalError: the file cannot be opened or made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._call = loop_caller()
        self._changed = threading.Condition()
        self._pending = Batch()
        self._closing = False
        self._error: JournalError | None = None
        try:
            create(path)
            self._db = _connect(path)
            self._ballast = path.with_name(path.name + ".room")
            ballast.take(self._ballast, BALLAST)
            self._file = _identity(path)  # the open file keeps its number from being given to another
        except (sqlite3.Error, OSError) as failure:
            raise JournalError(f"the journal {path} cannot be opened for writing: {failure}") from failure
        self._thread = threading.Thread(target=self._write, name="bakeoff-journal", daemon=True)
        self._thread.start()

    def append(self, kind: str, path: str, body: str, files: Iterable[str] = ()) -> Batch:
        """Queue one entry; see `Journal.append`.

        Passes on JournalError: an earlier entry could not be written; the journal takes nothing more.
        """
        if self._error is not None:
            raise self._error
        row = (kind, path, body, checksum(kind, path, body))
        with self._changed:
            batch = self._pending
            batch.rows.append(row)
            batch.files.extend(files)
            if len(batch.rows) == 1:
                self._changed.notify()
        return batch

    def close(self) -> None:
        """Commit what is queued, then close; blocks for as long as that takes."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._pending.rows and not self._closing:
                    self._changed.wait()
                batch = self._pending
                if not batch.rows:
                    break
                self._pending = _new_batch(batch)
            if self._error is None:
                self._error = self._commit(batch)
            batch.error = self._error
            try:
                self._call(batch.done.set)
            except RuntimeError:  # the loop is gone; nobody waits any more, but the entries still count
                pass
        try:
            self._db.close()
        except sqlite3.Error:  # what was committed stays in the write-ahead log
            pass
        ballast.drop(self._ballast)

    def _commit(self, batch: Batch) -> JournalError | None:
        try:
            for file in batch.files:
                _sync(file)
            try:
                self._insert(batch)
            except sqlite3.OperationalError as failure:
                full = getattr(failure, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
                if not full or not ballast.drop(self._ballast):
                    raise
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                self._insert(batch)
        except Exception as failure:  # whatever it is: a writer that died silently would leave everybody waiting
            return self._lost() or JournalError(
                f"the journal {self._path} cannot be written: {failure}. "
                "What was committed before is safe; mend the cause, then resume the run."
            )
        return self._lost()

    def _insert(self, batch: Batch) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(_INSERT, batch.rows)
        self._db.execute("COMMIT")

    def _lost(self) -> JournalError | None:
        """Why nothing that is committed counts any more, if so: what stands at the path is not what is written to."""
        try:
            if _identity(self._path) == self._file:
                return None
        except OSError:
            pass
        return JournalError(
            f"the run's folder {self._path.parent} was removed, moved or replaced while the run was alive: "
            "the run is stopped, and what it did since is not on record"
        )


def read_entries(path: Path) -> Iterator[Entry | int]:
    """Every entry in order; for one that is damaged, its number instead.

    Raises:
        sqlite3.DatabaseError: the file itself is damaged, see `salvage`; also when a number is out of all order.

    Passes on JournalError: there is no such file, or it cannot be a journal.
    """
    db = open_to_read(path)
    try:
        expected = 1
        for seq, kind, entry_path, body, stored in db.execute("SELECT seq, kind, path, body, sum FROM entry"):
            if not 0 <= seq - expected < _WIDEST_GAP:
                raise sqlite3.DatabaseError(f"entry {seq} stands where {expected} should")
            yield from range(expected, seq)  # numbers have no gaps, so a missing one is a lost entry
            expected = seq + 1
            if intact(kind, entry_path, body, stored):
                yield Entry(seq, kind, entry_path, body)
            else:
                yield seq
    finally:
        db.close()


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection to read a journal by.

    Raises:
        JournalError: there is no such file, it may not be read, it is no file, or a newer bakeoff wrote it.
        sqlite3.DatabaseError: the file is damaged: its format or its table is not what is always written.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        raise JournalError(f"there is no journal at {path}") from None
    except OSError as failure:
        raise JournalError(f"cannot be read: {str(failure.strerror).lower()}: {path}") from None
    for name, kind in ((path, mode), *_beside(path)):
        if not stat.S_ISREG(kind):  # a pipe would be waited for, for ever
            raise JournalError(f"cannot be read: {name.name} is not a regular file, in {path.parent}")
        if not os.access(name, os.R_OK):
            raise JournalError(f"cannot be read: permission denied for {name.name} in {path.parent}")
    if (size := len(os.fsencode(path.absolute()))) > LONGEST_PATH:
        raise JournalError(f"cannot be read: its path has {size} bytes, more than {LONGEST_PATH}: {path}")
    db = sqlite3.connect(f"file:{_quote(path)}?mode=ro", uri=True)
    try:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        tables = db.execute("SELECT sql, rootpage FROM sqlite_master").fetchall()
        if SCHEMA_VERSION < version <= _PLAUSIBLE:
            raise JournalError(
                f"the journal {path} was written by a newer bakeoff (format {version}, this one reads up to "
                f"{SCHEMA_VERSION}); use that version"
            )
        if version != SCHEMA_VERSION or tables != [(_TABLE, 2)]:
            raise sqlite3.DatabaseError("its format or its table is not a journal's")
    except UnicodeDecodeError as failure:  # SQLite's own message, which quotes the damage
        db.close()
        raise sqlite3.DatabaseError("its table is not a journal's") from failure
    except BaseException:
        db.close()
        raise
    return db


def _beside(path: Path) -> Iterator[tuple[Path, int]]:
    """The files that SQLite keeps beside a journal, where they exist, with their modes."""
    for suffix in ("-wal", "-shm"):
        try:
            part = Path(f"{path}{suffix}")
            yield part, part.lstat().st_mode
        except OSError:
            continue


def intact(kind: object, path: object, body: object, stored: object) -> bool:
    """Whether the parts of a row are what was written."""
    if not (isinstance(kind, str) and isinstance(path, str) and isinstance(body, str)):
        return False
    return checksum(kind, path, body) == stored


def create(path: Path) -> None:
    """Make the file, readable by its owner alone, with its table; whoever is killed meanwhile leaves no half of it."""
    if path.exists() and path.stat().st_size:
        return
    draft = path.with_name(path.name + ".new")
    for left_over in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
        left_over.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_WRONLY, 0o600))
    db = _connect(draft)
    db.execute("BEGIN")
    db.execute(_TABLE)
    db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    db.execute("COMMIT")
    db.close()
    draft.replace(path)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    for pragma in _PRAGMAS:
        db.execute(pragma)
    return db


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _new_batch(previous: Batch) -> Batch:
    """A batch made in the writer's thread, where no event loop runs: it takes its event's class from `previous`."""
    batch = Batch.__new__(Batch)
    batch.rows, batch.files, batch.error = [], [], None
    batch.done = type(previous.done)()
    return batch


def _sync(file: str) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _quote(path: Path) -> str:
    return str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
