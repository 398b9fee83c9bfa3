"""Leftover processes of a slot's commands: each command ends, but a daemon has moved to another session."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from bakeoff.process.proctable import environment, process_table, send_signal

PATIENCE = 5.0
"""Seconds in which a killed process is expected to be gone."""


def end_leftovers(slot: str, outside: Path | None) -> int:
    """Kill every process that carries the slot's marker, or lives in its mounts; returns how many there were.

    Args:
        slot: the slot's id, as in `BAKEOFF_SLOT`.
        outside: the top of an overlay slot as `/proc/PID/root/...`: PID holds its mounts and is spared.
    """
    holder = int(outside.parts[2]) if outside is not None else 0
    mounts = _mounts(holder) if holder else None
    marker = b"\0BAKEOFF_SLOT=" + os.fsencode(slot) + b"\0"
    killed: set[int] = set()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = [
            pid
            for pid in process_table()
            if pid not in (holder, os.getpid())
            and (marker in environment(pid) or (mounts is not None and _mounts(pid) == mounts))
        ]
        if not found:
            break
        for pid in found:
            send_signal(pid, signal.SIGKILL)
        killed.update(found)
        time.sleep(0.002)
    return len(killed)


def _mounts(pid: int) -> str | None:
    """Identity of a process's mount namespace; None where it cannot be seen, or is a zombie's."""
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt")
    except OSError:
        return None
