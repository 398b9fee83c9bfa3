"""Which of the supervisor's descendants belong to which command."""

from __future__ import annotations

import os

from bakeoff.process.proctable import children_in, descendants, environment, process_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Protocol

    class Command(Protocol):
        """Running command, as far as it is asked: its first process, and what was seen of its tree before."""

        number: int
        pid: int
        status: int | None
        known: set[int]


class Trees:
    """Finds the processes of commands by descent and, once their parents have died, by their marks."""

    def __init__(self) -> None:
        self._marks: dict[int, int] = {}

    def of(self, commands: Collection[Command], mains: Collection[int], run: bytes) -> list[list[int]]:
        """The living processes of each of `commands`, all seen in one look at the system.

        Args:
            commands: those to look at.
            mains: first processes of all commands that are not reaped yet.
            run: the run's token, which marks what it started.
        """
        table = process_table()
        if not table:
            return [_group(command) for command in commands]
        me, children = os.getpid(), children_in(table)
        # Where a parent died the supervisor, as subreaper, is the parent now.
        orphans = [(pid, table[pid][1], self._mark(pid, run)) for pid in children.get(me, ()) if pid not in mains]
        trees = []
        for command in commands:
            roots = [command.pid] if command.status is None else []
            for pid, session, mark in orphans:
                if mark == command.number or session == command.pid or pid in command.known:
                    roots.append(pid)
            trees.append(roots + [pid for root in roots for pid in descendants(root, children)])
        return trees

    def forget(self, pid: int) -> None:
        """`pid` was reaped; its number may come again."""
        self._marks.pop(pid, None)

    def _mark(self, pid: int, run: bytes) -> int:
        """The command that started `pid`, by its environment; 0 where that does not tell."""
        if pid not in self._marks:
            marks = environment(pid)
            if len(marks) <= 1:
                return 0  # unreadable, or only just being replaced by exec: ask again
            number = marks.partition(b"\0BAKEOFF_LEAF=")[2].partition(b"\0")[0]
            ours = b"\0BAKEOFF_RUN=%b\0" % run in marks and number.isdigit()
            self._marks[pid] = int(number) if ours else 0
        return self._marks[pid]


def _group(command: Command) -> list[int]:
    """Without /proc only the process group can be reached: a negative number, the way kill(2) takes it."""
    try:
        os.killpg(command.pid, 0)
    except (ProcessLookupError, PermissionError):
        return []
    return [-command.pid]
