"""Progress of attempts: a line for each thing that happens, and on a terminal what goes on right now below them."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from bakeoff.cli.lines import Lines, heard_of
from bakeoff.engine.events import Event, Events, NodeEnded, NodeHeard, NodeStarted, RunChanged, Warned
from bakeoff.engine.record import Record, Status
from bakeoff.judge.timing.bench_lock import LANE as BENCH
from bakeoff.report.words import duration
from bakeoff.sampling.attempt.preflight import NODE as PREFLIGHT

if TYPE_CHECKING:
    from rich.text import Text

_PATH = re.compile(r".*/attempt:(\d+)/(?:generate|check:(\d+).*)")


class AttemptLines(Lines):
    """Says what happens to each attempt, on standard error.

    Args:
        events: what happens.
    """

    def __init__(self, events: Events) -> None:
        super().__init__(events)
        self.running: dict[str, tuple[str, float]] = {}
        self.heard: dict[str, NodeHeard] = {}

    def __call__(self, event: Event) -> None:
        """Say what there is to say of an event."""
        match event:
            case RunChanged() if event.status == "running":
                self._say(f"▶ run {event.run_id}")
            case Warned():
                self._say(f"! {event.text}")
            case NodeStarted():
                self._started(event)
            case NodeHeard():
                self.heard[event.path] = event
            case NodeEnded():
                self._ended(event)

    def _started(self, event: NodeStarted) -> None:
        found = _PATH.fullmatch(event.path)
        if event.type == PREFLIGHT:
            what = f"check {event.path.rpartition(':')[2]}, on your files as they are"
            self.running[event.path] = (what, time.monotonic())
            if not self.on_terminal:
                self._say(f"▶ {what}")
        if event.type == BENCH:
            self.running[event.path] = ("measuring, with the machine alone", time.monotonic())
            self._say("▶ measuring, with the machine alone")
        if found is None:
            return
        what = f"attempt {found[1]}" + ("" if found[2] is None else f", check {int(found[2]) + 1}")
        self.running[event.path] = (what, time.monotonic())
        if found[2] is None and not self.on_terminal:
            self._say(f"▶ {what}")

    def _ended(self, event: NodeEnded) -> None:
        self.running.pop(event.record.path, None)
        self.heard.pop(event.record.path, None)
        found = _PATH.fullmatch(event.record.path)
        if found is None:
            return
        record = event.record
        took = "kept from before" if event.reused else duration(record.ended_at - record.started_at)
        if found[2] is None:
            self._say(_made(f"attempt {found[1]}", record, took))
        else:
            self._say(_judged(f"attempt {found[1]}, check {int(found[2]) + 1}", record, took))

    def _now(self, room: int) -> Text:
        """What goes on now."""
        from rich.text import Text

        now, wall = time.monotonic(), time.time()
        text = Text(f"{len(self.running)} at work, {duration(now - self.began)}\n", "bold", end="")
        for path, (what, since) in list(self.running.items())[: max(1, room)]:
            heard = heard_of(self.heard.get(path), wall)
            text.append(f"  ▶ {what}  ", "cyan").append(f"{duration(now - since)}{heard}\n", "bright_black")
        return text


def _made(what: str, record: Record, took: str) -> str:
    """A line on a generation that ended."""
    if record.kind == "unmade":
        return f"- {what}: {record.error}"
    if record.status is not Status.COMPLETED:
        return f"✗ {what}: {record.kind}: {record.error}"
    size = (record.facts or {}).get("diff") or {"files": 0, "added": 0, "deleted": 0}
    return f"· {what}: {size['files']} changed, +{size['added']} -{size['deleted']} ({took})"


def _judged(what: str, record: Record, took: str) -> str:
    """A line on a check that ended."""
    verdict = record.output.get("verdict") if record.status is Status.COMPLETED else None
    if verdict is not None and verdict["result"]:
        return f"✓ {what} ({took})"
    said = (verdict or {}).get("reason") or (verdict or {}).get("error") or record.error or "failed"
    return f"✗ {what}: {said.splitlines()[0]} ({took})"
