"""What the first process of a sandbox does: reap what is left behind, end all when together they take too much."""

from __future__ import annotations

import os

from bakeoff.workspace.sandbox.inside import kernel

INTERVAL = 0.05
KILL = 9
PAGE = os.sysconf("SC_PAGE_SIZE")


def until_end(command: int, memory: int, count: int) -> tuple[int, str]:
    """Wait for the process `command`, a child; its wait status, and why all were ended early.

    Args:
        command: its id.
        memory: resident bytes that all processes of the sandbox may take together; 0 for no limit.
        count: how many processes there may be; 0 for no limit.
    """
    watched = bool(memory or count)
    while True:
        status = _reap(command, wait=not watched)
        if status is not None:
            return status, ""
        if not watched:
            continue
        _pause(command)
        reason = too_much("/proc", memory, count)
        if reason:
            os.kill(-1, KILL)  # all of this pid namespace but this process
            return KILL, reason


def _reap(command: int, wait: bool) -> int | None:
    while True:
        try:
            pid, status = os.waitpid(-1, 0 if wait else os.WNOHANG)
        except ChildProcessError:
            return KILL
        if pid == command:
            return status
        if pid == 0:
            return None


def _pause(command: int) -> None:
    """Until the command ends, or for a moment."""
    handle = os.pidfd_open(command)
    try:
        kernel.wait_readable(handle, INTERVAL)
    finally:
        os.close(handle)


def too_much(proc: str, memory: int, count: int) -> str:
    """Why the processes that `proc` shows are to be ended; empty for no reason."""
    pids = [name for name in os.listdir(proc) if name.isdigit()]
    if count and len(pids) - 1 > count:
        return f"more than {count} processes"
    total = 0
    if memory:
        for pid in pids:
            try:
                with open(f"{proc}/{pid}/statm", "rb") as file:
                    total += int(file.read().split()[1]) * PAGE
            except (OSError, IndexError, ValueError):
                continue  # it ended meanwhile
        if total > memory:
            return f"more than {memory >> 20} MB of memory, all processes together"
    return ""
