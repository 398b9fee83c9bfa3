"""Leftover files of an agent's CLI: what it leaves at the top of where it works, for itself, and nobody wants."""

from __future__ import annotations

import os
from fnmatch import fnmatch

from bakeoff.agent.entry import Entry
from bakeoff.process.command import Command, Processes, SpawnError

SECONDS = 60.0
"""Most time for listing or removing."""


async def leftover_files(entry: Entry, processes: Processes, cwd: str) -> frozenset[str]:
    """Names at the top of `cwd` that the entry's patterns match; none where it cannot be looked."""
    if not entry.leftovers:
        return frozenset()
    command = Command(["find", ".", "-maxdepth", "1", "-name", ".?*", "-print0"], cwd, timeout=SECONDS)
    try:
        finished = await processes.run(command)
    except SpawnError:
        return frozenset()
    names = (os.path.basename(path) for path in str(finished.stdout.value).split("\0"))
    return frozenset(name for name in names if any(fnmatch(name, pattern) for pattern in entry.leftovers))


async def remove_leftover_files(entry: Entry, processes: Processes, cwd: str, before: frozenset[str]) -> None:
    """Remove what came since `before`. What cannot be removed stays."""
    new = sorted(await leftover_files(entry, processes, cwd) - before)
    if new:
        try:
            await processes.run(Command(["rm", "-rf", "--", *new], cwd, timeout=SECONDS))
        except SpawnError:
            return
