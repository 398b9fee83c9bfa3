"""Folders in the system's temporary place. What a killed process left there goes when the next one is made."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bakeoff.system.folders import remove_tree

LOCK = ".bakeoff-lock"
"""Held as long as somebody uses the folder; a folder without such a file is none of ours."""

_YOUNG = 60.0
"""Seconds within which a folder may have been made, and its lock not be held yet."""


@contextmanager
def temporary_folder(kind: str, place: str | None = None) -> Iterator[str]:
    """A folder that is removed at the end; where this process is killed before, by the next call.

    Args:
        kind: stands in its name.
        place: where it is made; the system's temporary place if left out.

    Passes on OSError: it cannot be made.
    """
    with suppress(OSError):
        _sweep(Path(place or tempfile.gettempdir()))
    with scratch_folder(f"bakeoff-{kind}-", place) as folder:
        lock = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with suppress(OSError):  # where there are no locks nobody removes it either
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield folder
        finally:
            os.close(lock)


@contextmanager
def scratch_folder(prefix: str, place: Path | str | None) -> Iterator[str]:
    """A folder in `place` that is removed at the end, whatever has come to be in it.

    Passes on OSError: it cannot be made, or not be removed.
    """
    folder = tempfile.mkdtemp(prefix=prefix, dir=place)
    try:
        yield folder
    finally:
        with suppress(FileNotFoundError):
            remove_tree(folder)


def _sweep(place: Path) -> None:
    """Remove this user's folders that nobody holds any more."""
    for folder in place.glob("bakeoff-*"):
        with suppress(OSError):
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                found = os.fstat(lock)
                if found.st_uid == os.geteuid() and found.st_mtime < time.time() - _YOUNG:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_tree(folder, ignore_errors=True)
            finally:
                os.close(lock)
