"""Finds and ends processes that a dead run, command or supervisor left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

import anyio

from bakeoff.process.proctable import (
    children_in,
    descendants,
    environment,
    kill_trees,
    process_table,
    send_signal,
    started,
)

PATIENCE = 2.0
"""Seconds a sweep waits for what it killed to be gone."""

_PROCESS = "process:"
"""How the token of a process begins; others name runs."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A process that carries a run's marker."""

    pid: int
    token: str


def process_token(*, daemons: bool = True) -> str:
    """A token (`BAKEOFF_RUN`) for what this process starts outside of any run: it says whose, and of which folder.

    Args:
        daemons: whether what moves to another session is to end with the rest.
    """
    me = os.getpid()
    folder = quote(os.path.realpath(os.curdir))
    return f"{_PROCESS}{_namespace()}:{me}:{started(me) or ''}:{'' if daemons else os.getsid(0)}:{folder}"


def survivors(is_dead: Callable[[str], bool], within: Path) -> list[Survivor]:
    """The processes of dead runs and of dead processes, but for this process and those it came from.

    Args:
        is_dead: told a run's token (`BAKEOFF_RUN`), says whether nobody runs it any more; asked once a token.
        within: the project; of dead processes that worked elsewhere nothing is found.
    """
    verdicts: dict[str, bool] = {}
    found = []
    for pid, token in _marked():
        if token not in verdicts:
            verdicts[token] = _is_orphaned(token, within) if names_process(token) else is_dead(token)
        if verdicts[token] and not _is_daemon(pid, token):
            found.append(Survivor(pid, token))
    return found


def sweep(is_dead: Callable[[str], bool], within: Path) -> list[Survivor]:
    """Kill what `survivors` finds and all below; wait, at most `PATIENCE` seconds, until it is gone.

    Returns:
        Every process that was killed.
    """
    killed: dict[int, Survivor] = {}
    end = time.monotonic() + PATIENCE
    while (left := survivors(is_dead, within)) and time.monotonic() < end:
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


def names_process(token: str) -> bool:
    """Whether a token is that of a process, not of a run."""
    return token.startswith(_PROCESS)


def _is_orphaned(token: str, within: Path) -> bool:
    """Whether the process of that token has ended; unknown of another system's, where its number means nothing."""
    match token.removeprefix(_PROCESS).split(":"):
        case [namespace, pid, start, _, folder] if pid.isdecimal() and start and namespace == _namespace():
            return Path(unquote(folder)).is_relative_to(within.resolve()) and started(int(pid)) != start
    return False  # of another system or version, or made up


def _is_daemon(pid: int, token: str) -> bool:
    """Whether a process has left the session that its token is bound to."""
    session = token.split(":")[4] if names_process(token) else ""
    try:
        return bool(session) and str(os.getsid(pid)) != session
    except ProcessLookupError:
        return True


def _namespace() -> str:
    """Names the process numbers that count here: containers have their own."""
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return ""


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
