"""Watch on the processes of a sandbox: whether they together take too much."""

from __future__ import annotations

import os

PAGE = os.sysconf("SC_PAGE_SIZE")


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
