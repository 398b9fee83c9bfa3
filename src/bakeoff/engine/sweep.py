"""Finds and ends processes that a dead run, or a dead supervisor, left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

import anyio

from bakeoff.engine.proctable import children_in, descendants, environment, kill_trees, process_table, send_signal

PATIENCE = 2.0
"""Seconds a sweep waits for what it killed to be gone."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A process that carries a run's marker."""

    pid: int
    token: str


def survivors(is_dead: Callable[[str], bool]) -> list[Survivor]:
    """The processes of dead runs, but for this process and those it came from.

    Args:
        is_dead: told a run's token (`BAKEOFF_RUN`), says whether nobody runs it any more; asked once a token.
    """
    verdicts: dict[str, bool] = {}
    found = []
    for pid, token in _marked():
        if token not in verdicts:
            verdicts[token] = is_dead(token)
        if verdicts[token]:
            found.append(Survivor(pid, token))
    return found


def sweep(is_dead: Callable[[str], bool]) -> list[Survivor]:
    """Kill the processes of dead runs and all below them; wait, at most `PATIENCE` seconds, until they are gone.

    Returns:
        Every process that was killed.
    """
    killed: dict[int, Survivor] = {}
    end = time.monotonic() + PATIENCE
    while (left := survivors(is_dead)) and time.monotonic() < end:
        tokens = {survivor.pid: survivor.token for survivor in left}
        for pid, root in kill_trees(tokens).items():
            killed[pid] = Survivor(pid, tokens.get(pid, tokens[root]))
        time.sleep(0.002)
    return list(killed.values())


async def end_adopted(supervisors: Collection[int]) -> None:
    """Kill and reap what came to this process when a supervisor died, and all below it; also what hides its marker.

    What descends from a supervisor is never in this process's session; what was started here, or came with the
    process, is. It waits at most `PATIENCE` seconds.

    Args:
        supervisors: children of this process that live on.
    """
    me, session = os.getpid(), os.getsid(0)
    doomed: set[int] = set()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        table = process_table()
        children = children_in(table)
        for pid in children.get(me, ()):
            if table[pid][1] == session or pid in supervisors:
                continue
            for below in (pid, *descendants(pid, children)):
                send_signal(below, signal.SIGKILL)
                doomed.add(below)
        # Those below come to this process as their parents die, and only then can be reaped.
        doomed = {pid for pid in doomed if pid in table and not _reaped(pid)}
        if not doomed:
            return
        await anyio.sleep(0.001)


def token_of(pid: int) -> str | None:
    """The run that `pid` was started by, where its environment can be read and tells."""
    _, found, rest = environment(pid).partition(b"\0BAKEOFF_RUN=")
    return os.fsdecode(rest.partition(b"\0")[0]) if found else None


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return False  # not ours, or not yet


def _marked() -> list[tuple[int, str]]:
    """Processes that carry a marker, with its token; without this process and its ancestors."""
    if sys.platform == "darwin":
        return _marked_by_ps()
    table = process_table()
    spared = set(_lineage(os.getpid(), {pid: parent for pid, (parent, _) in table.items()}))
    return [(pid, token) for pid in table if pid not in spared and (token := token_of(pid)) is not None]


def _marked_by_ps() -> list[tuple[int, str]]:
    """The same where there is no /proc; best effort: ps shows the user's own processes' environments only."""
    command = ["ps", "-axwwE", "-o", "pid=,ppid=,command="]
    try:
        listing = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
    except OSError:
        return []
    rows = [line.split(None, 2) for line in listing.splitlines()]
    parents = {int(row[0]): int(row[1]) for row in rows if len(row) == 3}
    spared = set(_lineage(os.getpid(), parents))
    found = []
    for row in rows:
        if len(row) == 3 and int(row[0]) not in spared:
            before, marker, rest = row[2].rpartition(" BAKEOFF_RUN=")
            if marker and before:
                found.append((int(row[0]), rest.partition(" ")[0]))
    return found


def _lineage(pid: int, parents: dict[int, int]) -> list[int]:
    line = [pid]
    while (pid := parents.get(pid, 0)) > 0 and pid not in line:
        line.append(pid)
    return line
