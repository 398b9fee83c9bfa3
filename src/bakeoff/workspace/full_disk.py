"""Disk full: telling it from other failures, and which of the places that bakeoff writes to are short of room."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bakeoff.workspace.errors import NoSpaceError
from bakeoff.workspace.repository.cache import cache_root, data_root

SHORT = 1 << 20
"""Bytes left on a file system below which it is full: a write asks for more at once."""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of the system where there is no room."""


NO_ROOM = tuple(map(os.strerror, FULL))
"""The same in words."""


def is_full(failure: BaseException) -> bool:
    """Whether a system call failed because there was no room."""
    return isinstance(failure, OSError) and failure.errno in FULL


def full_disk(failure: OSError) -> str:
    """The message on a system call for which there was no room: the system does not always name the file."""
    return no_room(f"for {failure.filename}" if failure.filename else "")


def no_room(where: str = "") -> str:
    """That there is no room, and which of the places that bakeoff writes to are full; all where none seems so."""
    places = {cache_root(): "slots", data_root(): "results"}
    full = [f"{place} ({what})" for place, what in places.items() if is_short(place)]
    if full:
        named = f"{' and '.join(full)} {'is' if len(full) == 1 else 'are'}"
    else:
        named = f"the project, {' and '.join(f'{place} ({what})' for place, what in places.items())} are"
    return f"no space is left on the disk{where and f' {where}'}; make room where {named}"


def is_short(place: Path) -> bool:
    """Whether the file system is full that `place` is on, or will be."""
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        return shutil.disk_usage(place).free < SHORT
    except OSError:
        return False


@contextmanager
def saying_where_it_is_full() -> Iterator[None]:
    """Failures inside for want of room are said for people.

    Raises:
        NoSpaceError: there was no room.
        OSError: whatever else the system refused.
    """
    try:
        yield
    except OSError as failure:
        if not is_full(failure):
            raise
        raise NoSpaceError(full_disk(failure)) from failure
