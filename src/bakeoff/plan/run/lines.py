"""Progress of a plan, carried out here or by another process: its lines, the subplans and what each waits for."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from bakeoff.engine.events import Event, NodeEnded, NodeHeard, NodeRetried, NodeStarted, RunChanged
from bakeoff.engine.record import RunStatus, Status
from bakeoff.jobs.progress import Progress, Row, heard_of
from bakeoff.plan.events import PlanBegun, PlanSaid, QueueSaid, SubplanChanged
from bakeoff.plan.queue.lines import name_of
from bakeoff.plan.queue.view import Ran
from bakeoff.plan.run.view import node_of, run_view
from bakeoff.report.escape import one_line
from bakeoff.report.words import duration

if TYPE_CHECKING:
    from bakeoff.engine.store import RunFolder


MARKS = {
    Status.PENDING: ("·", "bright_black"),
    Status.RUNNING: ("▶", "cyan"),
    Status.COMPLETED: ("✓", "green"),
    Status.FAILED: ("✗", "red"),
    Status.BLOCKED: ("■", "yellow"),
    Status.CANCELLED: ("■", "yellow"),
    Status.SKIPPED: ("-", "bright_black"),
}


class PlanProgress(Progress):
    """Formatter of a plan; see `Progress`."""

    def __init__(self) -> None:
        super().__init__()
        self.tree: tuple[tuple[int, str, bool], ...] = ()
        self.status: dict[str, Status] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        self.started = time.time()
        self.since: dict[str, float] = {}
        self.doing: dict[str, str] = {}
        self.last_heard: dict[str, NodeHeard] = {}

    def noted(self, event: Event) -> Iterator[str]:
        """See `Progress`."""
        match event:
            case RunChanged() if event.status == "running":
                self.started = event.at
            case QueueSaid() | PlanSaid():
                yield f"· {event.text}"
            case PlanBegun():
                self.tree, self.needs = event.tree, dict(event.needs)
                self.status = {name: self.status.get(name, Status.PENDING) for _, name, leaf in self.tree if leaf}
            case SubplanChanged():
                yield self._changed(event)
            case NodeRetried() if (node := node_of(event.path)) is not None:
                yield f"! {node[0]}: {event.error}; again in {duration(event.delay)}"
            case NodeStarted() if (node := node_of(event.path)) is not None and "/" in node[1]:
                # By its path, for a journal does not tell what type it is: try:1//attempt:1/generate.
                self.doing[node[0]] = node[1].rpartition("/")[2].partition(":")[0]
                self.last_heard.pop(node[0], None)
            case NodeHeard() if (node := node_of(event.path)) is not None:
                self.last_heard[node[0]] = event
            case NodeEnded() if (node := node_of(event.record.path)) is not None:
                failed = event.record.status is Status.FAILED and not event.reused
                if failed and event.record.type == "try":
                    yield f"✗ {node[0]}: {node[1].replace(':', ' ')} failed: {event.record.error}"

    def _changed(self, event: SubplanChanged) -> str:
        name, status = event.name, event.status
        again = f", round {event.round}" if event.round > 1 else ""
        self.status[name] = status
        if status is Status.RUNNING:
            self.since[name] = event.at
            return f"▶ {name}{again}"
        took = duration(event.at - self.since.pop(name)) if name in self.since else ""
        self.doing.pop(name, None)
        why = f": {event.why}" if event.why else ""
        return f"{MARKS[status][0]} {name} {status.value}{why}{f' ({took}{again})' if took else ''}"

    def now(self, room: int) -> Iterator[Row]:
        """The subplans, those at work first to be shown where there is no room for all."""
        now = time.time()  # events of a run that another process carries out say when by the wall clock
        counts = Counter(status.value for status in self.status.values())
        head = ", ".join(f"{count} {status}" for status, count in counts.items())
        yield [(f"{head}, {duration(now - self.started)}", "bold")]
        rows = [row for row in self.tree if self._is_shown(row[1], len(self.tree) <= room)]
        for depth, name, leaf in rows[: max(1, room)]:
            if not leaf:
                yield [(f"{'  ' * depth}{name}", "")]
                continue
            mark, colour = MARKS[self.status[name]]
            about = (f"  {self._about(name, now)}", "bright_black")
            yield [(f"{'  ' * depth}{mark} {one_line(name, 60)}", colour), about]

    def _is_shown(self, name: str, everything: bool) -> bool:
        return everything or self.status.get(name) in (Status.RUNNING, Status.FAILED)

    def _about(self, name: str, now: float) -> str:
        if self.status[name] is Status.RUNNING:
            heard = heard_of(self.last_heard.get(name), now)
            return f"{self.doing.get(name, '')} {duration(now - self.since.get(name, now))}{heard}"
        waits = [other for other in self.needs.get(name, ()) if self.status.get(other) is not Status.COMPLETED]
        if self.status[name] is Status.PENDING and waits:
            return f"waits for {one_line(', '.join(waits), 80)}"
        return "" if self.status[name] is not Status.PENDING else "waits for a place"


def as_plan(folder: RunFolder, tell: Callable[[Event], None]) -> Callable[[Event], None]:
    """Callback that hands events of a run's journal on to `tell`, with those that a plan adds in its own process."""
    known = False

    def begun(at: float) -> None:
        nonlocal known
        plan = run_view(folder.history(), RunStatus.RUNNING).plan
        needs = {name: tuple(sorted(others)) for name, others in plan.graph().needs.items()}
        known = bool(plan.subplans)  # not while it is being split
        tell(PlanBegun(at, plan.tree(), needs))

    def told(event: Event) -> None:
        tell(event)
        match event:
            case RunChanged() if event.status == RunStatus.RUNNING:
                begun(event.at)
            case NodeStarted() if (node := node_of(event.path)) is not None and not node[1]:
                if not known:
                    begun(event.at)
                tell(SubplanChanged(event.at, node[0], Status.RUNNING))
            case NodeEnded(at, record) if (node := node_of(record.path)) is not None and not node[1]:
                tell(SubplanChanged(at, node[0], record.status, record.error or ""))
            case NodeEnded(at, record) if record.path.startswith("round:"):
                ran = Ran.at(record.path.partition("/")[2], record)
                if ran is not None and ran.verdict is not None:
                    tell(PlanSaid(at, f"{name_of(ran)}: {'passed' if ran.verdict.result else 'failed'}"))

    return told
