"""Cache of what scanners found in each blob, kept in the user's cache directory: only what changed is read again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path

SURPLUS = 4
"""How many times as many blobs as are in use are kept."""


class ScanCache:
    """A file with the scanners' findings by language and blob id; one that cannot be used is as if it were empty."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def get(self, keys: Iterable[str]) -> dict[str, list[str]]:
        """Cached findings of these keys."""
        wanted = set(keys)
        try:
            with closing(self._open()) as database:
                rows = database.execute("SELECT key, specs FROM scanned").fetchall()
        except sqlite3.Error:
            self._forget()
            return {}
        return {key: specs.split("\n") if specs else [] for key, specs in rows if key in wanted}

    def add(self, found: Mapping[str, Iterable[str]], in_use: int) -> None:
        """Keep findings; when there are far more than are `in_use`, only these are kept."""
        try:
            with closing(self._open()) as database, database:
                (count,) = database.execute("SELECT count(*) FROM scanned").fetchone()
                if count + len(found) > SURPLUS * max(in_use, 1000):
                    database.execute("DELETE FROM scanned")
                rows = [(key, "\n".join(specs)) for key, specs in found.items()]
                database.executemany("INSERT OR REPLACE INTO scanned VALUES (?, ?)", rows)
        except sqlite3.Error:
            self._forget()

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._file, timeout=2)
        database.execute("PRAGMA synchronous=OFF")  # it can be made again
        database.execute("CREATE TABLE IF NOT EXISTS scanned (key TEXT PRIMARY KEY, specs TEXT) WITHOUT ROWID")
        return database

    def _forget(self) -> None:
        with suppress(OSError):
            self._file.unlink()
