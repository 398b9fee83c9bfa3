"""Subplans and what they wait for: names checked, circles found, an order in which what is needed comes first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from bakeoff.plan.decompose.order import circles
from bakeoff.plan.errors import ScheduleError


@dataclass(frozen=True, slots=True)
class Task:
    """Task that is scheduled.

    Attributes:
        name: each once.
        needs: names of those that must have ended before it starts.
        writes: globs of what it may write; none where that is not declared.
    """

    name: str
    needs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Tasks in an order in which each comes after what it needs; among equals in the order in which they were given.

    Attributes:
        tasks: by name, in that order.
        needs: of each, what it waits for; those of one circle do not wait for each other, and who needs one of them
            waits for all.
    """

    tasks: Mapping[str, Task]
    needs: Mapping[str, frozenset[str]]
    groups: tuple[tuple[str, ...], ...]

    def needed_by(self) -> dict[str, list[str]]:
        """Of each, who waits for it."""
        found: dict[str, list[str]] = {name: [] for name in self.tasks}
        for name, needed in self.needs.items():
            for other in needed:
                found[other].append(name)
        return found

    def above(self, name: str) -> set[str]:
        """All that `name` needs, also by way of others."""
        return _reached([name], self.needs)


def _reached(start: Iterable[str], ways: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    todo = [other for name in start for other in ways.get(name, ())]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += ways.get(name, ())
    return found


def graph_of(tasks: Sequence[Task]) -> Graph:
    """The graph of these tasks.

    Raises:
        ScheduleError: a name is there twice, unknown, or needs itself.
    """
    number: dict[str, int] = {}
    for at, task in enumerate(tasks):
        if task.name in number:
            raise ScheduleError(f"there are two subplans called {task.name!r}")
        number[task.name] = at
    for task in tasks:
        for other in task.needs:
            if other == task.name:
                raise ScheduleError(f"subplan {task.name!r} waits for itself")
            if other not in number:
                raise ScheduleError(f"subplan {task.name!r} waits for {other!r}, and there is no such subplan")
    targets = [[number[other] for other in task.needs] for task in tasks]
    groups = circles(targets)
    group_of = {at: group for group in groups for at in group}
    needs = [
        {member for other in others if other not in group_of[at] for member in group_of[other]}
        for at, others in enumerate(targets)
    ]
    for group in groups:  # whoever of a circle starts, all that any of it needs is there
        wanted = set().union(*(needs[at] for at in group))
        for at in group:
            needs[at] = wanted
    order = _in_order(needs)
    names = [task.name for task in tasks]
    return Graph(
        {names[at]: tasks[at] for at in order},
        {names[at]: frozenset(names[other] for other in needs[at]) for at in order},
        tuple(sorted((tuple(names[at] for at in group) for group in groups if len(group) > 1), key=lambda g: g[0])),
    )


def _in_order(needs: Sequence[set[int]]) -> list[int]:
    left = [len(others) for others in needs]
    after: list[list[int]] = [[] for _ in needs]
    for at, others in enumerate(needs):
        for other in others:
            after[other].append(at)
    ready = [at for at, count in enumerate(left) if not count]
    heapify(ready)
    found = []
    while ready:
        at = heappop(ready)
        found.append(at)
        for other in after[at]:
            left[other] -= 1
            if not left[other]:
                heappush(ready, other)
    return found
