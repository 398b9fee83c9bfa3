"""Reading a journal that was damaged: whatever can still be read is used, whatever cannot is named."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from bakeoff.engine.journal import PAGE_SIZE, Entry, checksum, create, intact, open_to_read, read_entries
from bakeoff.errors import JournalError
from bakeoff.system.temporary import temporary_folder

_SPARE = 2000
"""Numbers tried beyond the last readable entry before the rest is given up."""


def read_whole(path: Path) -> Iterator[Entry | int]:
    """Every readable entry of a journal, in order, and the number of each damaged one.

    Raises:
        JournalError: the file is missing, from a newer bakeoff, or damaged beyond reading.
    """
    entries, failure = _read_as_it_is(path)
    if failure is not None or not _first_page_is_sound(path):
        # Which of the two ways gets at more depends on what is damaged.
        entries = max(entries, _salvaged(path), key=_readable)
        if not _readable(entries):
            raise JournalError(f"the journal {path} is damaged beyond reading: {failure}") from failure
    yield from entries


def _read_as_it_is(path: Path) -> tuple[list[Entry | int], sqlite3.DatabaseError | None]:
    try:
        return list(read_entries(path)), None
    except sqlite3.DatabaseError as failure:
        return [], failure


def is_torn(path: Path) -> bool:
    """Whether SQLite cannot read the journal, so that entries may be missing from its end without a trace.

    Passes on JournalError: there is no journal.
    """
    return _read_as_it_is(path)[1] is not None


def _readable(entries: list[Entry | int]) -> int:
    return sum(isinstance(entry, Entry) for entry in entries)


def rebuild(path: Path) -> Path | None:
    """Make a damaged journal writable again from what can be read of it.

    Returns where the damaged one was put, or None when the journal was sound. Entries that are lost stay gaps in
    the numbering.

    Raises:
        JournalError: nothing of it can be read, or it cannot be replaced.
    """
    if _is_sound(path):
        return None
    entries = [entry for entry in read_whole(path) if isinstance(entry, Entry)]
    kept, new = path.with_name(path.name + ".damaged"), path.with_name(path.name + ".rebuilt")
    try:
        new.unlink(missing_ok=True)
        create(new)
        with closing(sqlite3.connect(new)) as db, db:
            rows = [(e.seq, e.kind, e.path, e.body, checksum(e.kind, e.path, e.body)) for e in entries]
            db.executemany("INSERT INTO entry (seq, kind, path, body, sum) VALUES (?, ?, ?, ?, ?)", rows)
        for suffix in ("-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.rename(f"{path}{suffix}", f"{kept}{suffix}")
        shutil.copyfile(path, kept)
        new.replace(path)  # at no moment is there no journal
    except (OSError, sqlite3.Error) as failure:
        raise JournalError(f"the journal {path} is damaged and cannot be rebuilt: {failure}") from failure
    return kept


def _is_sound(path: Path) -> bool:
    """Whether the journal can be read whole, and written too. Call this while nobody else uses it."""
    try:
        for _ in read_entries(path):
            pass
        with closing(open_to_read(path)) as db:
            return _first_page_is_sound(path) and db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    except sqlite3.DatabaseError:
        return False


def _first_page_is_sound(path: Path) -> bool:
    """Whether the first page says what every journal's says, but for the counters in its header."""
    with path.open("rb") as file:
        page = file.read(PAGE_SIZE)
    return _without_counters(page) == _without_counters(_sound_page())


def _without_counters(page: bytes) -> bytes:
    """The page without changes counted, size in pages, the change they are valid for, SQLite's version."""
    return page[:24] + page[32:92] + page[100:]


@cache
def _sound_page() -> bytes:
    with temporary_folder("journal") as folder:
        sound = Path(folder) / "sound"
        create(sound)
        return sound.read_bytes()[:PAGE_SIZE]


def lost_tail(path: Path) -> bool:
    """Whether the write-ahead log holds commits that SQLite will not read: damaged, or cut off while written.

    SQLite stops reading the log at the first frame whose checksum is wrong, without a word. Call this while
    nobody else uses the journal.
    """
    log = Path(f"{path}-wal")
    if not log.exists():
        return False
    with temporary_folder("journal") as folder:
        copy = _copy(path, Path(folder))
        try:
            with closing(sqlite3.connect(copy)) as db:
                valid = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()[1]
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            return False  # the main file is damaged too, and `rebuild` says so
    return _commits_beyond(log.read_bytes(), valid)


def _commits_beyond(log: bytes, valid: int) -> bool:
    """Whether frames of the log's current generation after number `valid` end a transaction."""
    header, frame = 32, 24 + PAGE_SIZE
    salts = log[16:24]
    for start in range(header + valid * frame, len(log) - frame + 1, frame):
        (committed,) = struct.unpack_from(">I", log, start + 4)
        if log[start + 8 : start + 16] == salts and committed:
            return True
    return False


def _salvaged(path: Path) -> list[Entry | int]:
    with temporary_folder("journal") as folder:
        copy = _copy(path, Path(folder))
        _graft_first_page(copy)
        try:
            with closing(sqlite3.connect(copy)) as db:
                db.execute("SELECT seq FROM entry WHERE seq = -1")
                return _probe(db)
        except sqlite3.DatabaseError:
            return []


def _copy(path: Path, folder: Path) -> Path:
    for suffix in ("", "-wal"):
        part = Path(f"{path}{suffix}")
        if part.exists():
            shutil.copyfile(part, folder / f"journal{suffix}")
    return folder / "journal"


def _graft_first_page(copy: Path) -> None:
    """Every journal's first page says the same (format and table), so a lost one can be replaced."""
    with copy.open("r+b") as file:
        size = max(file.seek(0, 2) // PAGE_SIZE, 2)
        page = bytearray(_sound_page())
        struct.pack_into(">I", page, 28, size)
        file.seek(0)
        file.write(page)


def _probe(db: sqlite3.Connection) -> list[Entry | int]:
    """Ask for one entry after the other, so that a damaged page costs its own entries alone."""
    found: list[Entry | int] = []
    readable = 0  # length of `found` up to the last readable entry
    number = 0
    while number - (found[readable - 1].seq if readable else 0) <= _SPARE:  # type: ignore[union-attr]
        number += 1
        try:
            row = db.execute("SELECT kind, path, body, sum FROM entry WHERE seq = ?", (number,)).fetchone()
        except sqlite3.DatabaseError:
            row = ()
        if row and intact(*row):
            found.append(Entry(number, *row[:3]))
            readable = len(found)
        elif row is not None or not readable:
            found.append(number)
    # Past the last readable entry nobody knows how many there were; one number stands for them all.
    return found[: readable + 1]
