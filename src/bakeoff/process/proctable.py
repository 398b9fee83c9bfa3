"""Process table, for supervisor, workers and sweep: who descends from whom, signals, reaping."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` is slow to import: it makes enumerations
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

FIRST_LOOK, LAST_LOOK = 0.0005, 0.05
"""Seconds between two looks at what is being killed; they grow from the one to the other."""


def adopt_orphans() -> bool:
    """Make this process the subreaper of its descendants; False where the system has no such thing."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> bool:
    """Have this process killed when the thread that forked it ends; False where the system has no such thing."""
    return _prctl(PR_SET_PDEATHSIG, _signal.SIGKILL)


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0  # type: ignore[no-any-return]


def process_table() -> dict[int, tuple[int, int]]:
    """Parent and session of every process; empty where there is no /proc."""
    table: dict[int, tuple[int, int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return table
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                    fields = file.read(512).rpartition(b")")[2].split(None, 4)
            except OSError:
                continue  # it ended meanwhile
            table[int(name)] = (int(fields[1]), int(fields[3]))
    return table


def started(pid: int) -> str | None:
    """When a process began, in ticks since the machine did: with `pid` it names one for good; None once it ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            fields = file.read(1024).rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()


def children_in(table: dict[int, tuple[int, int]]) -> dict[int, list[int]]:
    """The children of every process in `table` that has any."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    return children


def descendants(root: int, children: dict[int, list[int]]) -> list[int]:
    """Everything below `root`, without `root`."""
    found = list(children.get(root, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


def environment(pid: int) -> bytes:
    """Environment that `pid` was started with: NAME=value, NUL before and after each; empty where it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            return b"\0" + file.readall()
    except OSError:
        return b""


def send_signal(pid: int, number: int) -> None:
    """Signal `pid`; one that is gone, or is not ours to signal, is no error."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def kill_trees(roots: Collection[int]) -> dict[int, int]:
    """KILL `roots` and everything below them; every process that was killed, with the root that led to it.

    All are stopped before the first is killed: only descent names what has hidden its marks, so no parent may die
    before its children are known, and none may start another meanwhile.
    """
    doomed: dict[int, int] = {}
    new = {root: root for root in roots}
    while new:
        for pid in new:
            send_signal(pid, _signal.SIGSTOP)
        doomed.update(new)
        children = children_in(process_table())
        new = {pid: root for root in roots for pid in descendants(root, children) if pid not in doomed}
    for pid in doomed:
        send_signal(pid, _signal.SIGKILL)
    return doomed


def end_descendants(groups: Collection[int] = ()) -> None:
    """Kill every descendant of this process, which is their subreaper, and return when none is left.

    Args:
        groups: what to kill where there is no /proc: negative numbers, the way kill(2) takes process groups.
    """
    pause = FIRST_LOOK
    while True:
        table = process_table()
        for pid in descendants(os.getpid(), children_in(table)) if table else groups:
            send_signal(pid, _signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(pause)
        pause = min(pause * 1.5, LAST_LOOK)


def wait_one(before: Callable[[int], None]) -> tuple[int, int]:
    """Reap one child that ended, after `before` was called with its number; number and status, or zeros."""
    try:
        if hasattr(os, "waitid"):
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None:
                return 0, 0
            before(found.si_pid)  # its zombie still pins the number, so nobody else can be meant
            return os.waitpid(found.si_pid, 0)
        pid, status = os.waitpid(-1, os.WNOHANG)
        before(pid)
        return pid, status
    except ChildProcessError:
        return 0, 0
