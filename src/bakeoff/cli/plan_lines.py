"""Progress of a plan: a line for each thing that is known, and on a terminal the subplans and what each waits for."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from bakeoff.cli.lines import Lines, heard_of
from bakeoff.engine.events import Event, Events, NodeEnded, NodeHeard, NodeRetried, NodeStarted, RunChanged, Warned
from bakeoff.engine.record import Status
from bakeoff.plan.events import PlanBegun, PlanSaid, QueueSaid, SubplanChanged
from bakeoff.plan.run.view import node_of
from bakeoff.report.escape import one_line
from bakeoff.report.words import duration

if TYPE_CHECKING:
    from rich.text import Text

MARKS = {
    Status.PENDING: ("·", "bright_black"),
    Status.RUNNING: ("▶", "cyan"),
    Status.COMPLETED: ("✓", "green"),
    Status.FAILED: ("✗", "red"),
    Status.BLOCKED: ("■", "yellow"),
    Status.CANCELLED: ("■", "yellow"),
    Status.SKIPPED: ("-", "bright_black"),
}


class PlanLines(Lines):
    """Says what happens.

    Args:
        events: what happens.
    """

    def __init__(self, events: Events) -> None:
        super().__init__(events)
        self.tree: tuple[tuple[int, str, bool], ...] = ()
        self.status: dict[str, Status] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        self.started = time.time()
        self.since: dict[str, float] = {}
        self.doing: dict[str, str] = {}
        self.heard: dict[str, NodeHeard] = {}

    def __call__(self, event: Event) -> None:
        """Say what there is to say of an event."""
        match event:
            case RunChanged() if event.status == "running":
                self.started = event.at
                self._say(f"▶ run {event.run_id}")
            case Warned():
                self._say(f"! {event.text}")
            case QueueSaid() | PlanSaid():
                self._say(f"· {event.text}")
            case PlanBegun():
                self.tree, self.needs = event.tree, dict(event.needs)
                self.status = {name: self.status.get(name, Status.PENDING) for _, name, leaf in self.tree if leaf}
            case SubplanChanged():
                self._changed(event)
            case NodeRetried():
                if (node := node_of(event.path)) is not None:
                    self._say(f"! {node[0]}: {event.error}; again in {duration(event.delay)}")
            case NodeStarted():
                # By its path, for a journal does not tell what type it is: try:1//attempt:1/generate.
                if (node := node_of(event.path)) is not None and "/" in node[1]:
                    self.doing[node[0]] = node[1].rpartition("/")[2].partition(":")[0]
                    self.heard.pop(node[0], None)
            case NodeHeard():
                if (node := node_of(event.path)) is not None:
                    self.heard[node[0]] = event
            case NodeEnded():
                self._ended(event)

    def _changed(self, event: SubplanChanged) -> None:
        name, status = event.name, event.status
        again = f", round {event.round}" if event.round > 1 else ""
        self.status[name] = status
        if status is Status.RUNNING:
            self.since[name] = event.at
            self._say(f"▶ {name}{again}")
            return
        took = duration(event.at - self.since.pop(name)) if name in self.since else ""
        self.doing.pop(name, None)
        why = f": {event.why}" if event.why else ""
        self._say(f"{MARKS[status][0]} {name} {status.value}{why}{f' ({took}{again})' if took else ''}")

    def _ended(self, event: NodeEnded) -> None:
        node = node_of(event.record.path)
        if node is None or event.reused or event.record.status is not Status.FAILED:
            return
        if event.record.type == "try":
            self._say(f"✗ {node[0]}: {node[1].replace(':', ' ')} failed: {event.record.error}")

    def _now(self, room: int) -> Text:
        """The subplans, those at work first to be shown where there is no room for all."""
        from rich.text import Text

        now = time.time()  # events of a run that another process carries out say when by the wall clock
        counts = Counter(status.value for status in self.status.values())
        head = ", ".join(f"{count} {status}" for status, count in counts.items())
        text = Text(f"{head}, {duration(now - self.started)}\n", "bold", end="")
        rows = [row for row in self.tree if self._is_shown(row[1], len(self.tree) <= room)]
        for depth, name, leaf in rows[: max(1, room)]:
            if not leaf:
                text.append(f"{'  ' * depth}{name}\n")
                continue
            mark, colour = MARKS[self.status[name]]
            text.append(f"{'  ' * depth}{mark} {one_line(name, 60)}", colour)
            text.append(f"  {self._about(name, now)}\n", "bright_black")
        return text

    def _is_shown(self, name: str, everything: bool) -> bool:
        return everything or self.status.get(name) in (Status.RUNNING, Status.FAILED)

    def _about(self, name: str, now: float) -> str:
        if self.status[name] is Status.RUNNING:
            heard = heard_of(self.heard.get(name), now)
            return f"{self.doing.get(name, '')} {duration(now - self.since.get(name, now))}{heard}"
        waits = [other for other in self.needs.get(name, ()) if self.status.get(other) is not Status.COMPLETED]
        if self.status[name] is Status.PENDING and waits:
            return f"waits for {one_line(', '.join(waits), 80)}"
        return "" if self.status[name] is not Status.PENDING else "waits for a place"
