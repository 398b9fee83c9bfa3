"""Owners of requests in flight: whether they still live."""

from __future__ import annotations

import os
from pathlib import Path

from bakeoff.model.rate.controller import State


def started_at(pid: int) -> float | None:
    """When a process started, in the system's own units: with the pid it names a process. None without /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The second field is the program's name in brackets, and may hold anything.
    return float(stat.rpartition(b")")[2].split()[19])


def drop_dead(state: State) -> None:
    """Take out the owners whose process is gone: nothing of theirs is in flight any longer."""
    for owner in [owner for owner in state.owners if not _lives(owner[0], owner[1])]:
        del state.owners[owner]


def _lives(pid: int, started: float) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return started_at(pid) in (None, started)
