"""The scheduler: who starts now, who is blocked, who is cancelled; told who ended. It knows no time, does no work."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush

from bakeoff.engine.record import Status
from bakeoff.plan.schedule.graph import Graph
from bakeoff.plan.schedule.writes import Held

WELL = (Status.COMPLETED, Status.SKIPPED)
"""What lets those that wait go on."""


class Scheduler:
    """Tasks start as soon as what they need has ended well, there is room, and nobody at work may write what they may.

    Args:
        graph: what there is.
        max_parallel: how many are at work at once.
        fail_fast: with the first failure nothing starts any more, and who is at work is to be cancelled.
        ended: how tasks ended that need not start.

    Attributes:
        blocked_by: of each that is blocked, the one that failed.
        halted: nothing starts any more.
        doomed: whoever is at work is to be cancelled.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        max_parallel: int = 5,
        fail_fast: bool = False,
        ended: Mapping[str, Status] | None = None,
    ) -> None:
        self.graph, self.max_parallel, self.fail_fast = graph, max_parallel, fail_fast
        self.status: dict[str, Status] = dict.fromkeys(graph.tasks, Status.PENDING)
        self.blocked_by: dict[str, str] = {}
        self.halted = self.doomed = False
        self._rank = {name: at for at, name in enumerate(graph.tasks)}
        self._left = {name: len(needs) for name, needs in graph.needs.items()}
        self._after = graph.needed_by()
        self._ready: list[tuple[int, str]] = []
        self._held = Held()
        self._working = 0
        for name, count in self._left.items():
            if not count:
                self._make_ready(name)
        for name, status in (ended or {}).items():
            self._settle(name, status)

    @property
    def working(self) -> int:
        """Count of those at work."""
        return self._working

    @property
    def done(self) -> bool:
        """Whether nothing is at work and nothing can start."""
        return not self._working and (self.halted or all(self.status[n] is not Status.PENDING for _, n in self._ready))

    def _make_ready(self, name: str) -> None:
        heappush(self._ready, (self._rank[name], name))

    def start(self) -> list[str]:
        """Start those that may: their names, in order; they count as running."""
        started: list[str] = []
        waiting: list[tuple[int, str]] = []
        while self._ready and not self.halted and self._working < self.max_parallel:
            entry = heappop(self._ready)
            name = entry[1]
            if self.status[name] is not Status.PENDING:
                continue
            writes = self.graph.tasks[name].writes
            if writes and self._held.in_the_way(writes) is not None:
                waiting.append(entry)
                continue
            self._held.take(name, writes)
            self.status[name] = Status.RUNNING
            self._working += 1
            started.append(name)
        for entry in waiting:
            heappush(self._ready, entry)
        return started

    def waits_for(self, name: str) -> list[str]:
        """Reasons that keep a pending task from starting: what it needs, or whoever may write what it may."""
        needs = [other for other in self.graph.needs[name] if self.status[other] not in WELL]
        if needs:
            return sorted(needs, key=self._rank.__getitem__)
        writer = self._held.in_the_way(self.graph.tasks[name].writes)
        return [] if writer is None else [writer]

    def end(self, name: str, status: Status) -> None:
        """A task that was at work has ended. What ends while all is to be cancelled counts as cancelled.

        `PENDING` puts it back: it did not end, and nothing starts any more.
        """
        self._working -= 1
        self._held.drop(name, self.graph.tasks[name].writes)
        if status is Status.PENDING:
            self.status[name] = status
            self.halted = True
            return
        self._settle(name, Status.CANCELLED if self.doomed else status)

    def _settle(self, name: str, status: Status) -> None:
        self.status[name] = status
        if status in WELL:
            for other in self._after[name]:
                self._left[other] -= 1
                if not self._left[other]:
                    self._make_ready(other)
            return
        self._block(name)
        if self.fail_fast and status is Status.FAILED:
            self.doom()

    def _block(self, culprit: str) -> None:
        todo = [culprit]
        while todo:
            for other in self._after[todo.pop()]:
                if self.status[other] is Status.PENDING:
                    self.status[other] = Status.BLOCKED
                    self.blocked_by[other] = culprit
                    todo.append(other)

    def doom(self) -> None:
        """Nothing starts any more, what waits is cancelled, and whoever is at work is to be."""
        self.halted = self.doomed = True
        for name, status in self.status.items():
            if status is Status.PENDING:
                self.status[name] = Status.CANCELLED
