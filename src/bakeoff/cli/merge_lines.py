"""Progress of a merge: a line for each thing that is known, and on a terminal which checks run right now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bakeoff.cli.lines import Lines
from bakeoff.engine.events import Event, Events, NodeEnded, NodeStarted, RunChanged, Warned
from bakeoff.plan.events import QueueSaid
from bakeoff.plan.queue.view import Ran
from bakeoff.report.escape import one_line
from bakeoff.report.words import counted, duration, short_ids
from bakeoff.sampling.attempt.preflight import NODE as PREFLIGHT

if TYPE_CHECKING:
    from rich.text import Text


class MergeLines(Lines):
    """Says what happens.

    Args:
        events: what happens.
        refs: what is merged, as far as it is known.
    """

    def __init__(self, events: Events, refs: tuple[str, ...] = ()) -> None:
        super().__init__(events)
        self.refs = refs
        self.running: dict[str, tuple[str, float]] = {}

    def __call__(self, event: Event) -> None:
        """Say what there is to say of an event."""
        match event:
            case RunChanged() if event.status == "running":
                self._say(f"▶ run {event.run_id}")
            case Warned():
                self._say(f"! {event.text}")
            case QueueSaid():
                self._say(f"· {short_ids(event.text)}")
            case NodeStarted():
                if event.type == PREFLIGHT:
                    name = f"the base first, check {event.path.rpartition(':')[2]}"
                    self.running[event.path] = (name, time.monotonic())
                elif (ran := Ran.at(event.path)) is not None:
                    self.running[event.path] = (name_of(ran, self.refs), time.monotonic())
            case NodeEnded():
                self._ended(event)

    def _ended(self, event: NodeEnded) -> None:
        record = event.record
        self.running.pop(record.path, None)
        ran = Ran.at(record.path, record)
        if ran is None:
            return
        took = "kept from before" if event.reused else duration(record.ended_at - record.started_at)
        if ran.verdict is not None and ran.verdict.result:
            self._say(f"✓ {name_of(ran, self.refs)} ({took})")
            return
        said = ran.error if ran.verdict is None else ran.verdict.reason or ran.verdict.error
        self._say(f"✗ {name_of(ran, self.refs)}: {(said or 'failed').splitlines()[0]} ({took})")

    def _now(self, room: int) -> Text:
        """What goes on now."""
        from rich.text import Text

        now = time.monotonic()
        text = Text(f"{counted(len(self.running), 'check')} running, {duration(now - self.began)}\n", "bold", end="")
        for what, since in list(self.running.values())[: max(1, room)]:
            text.append(f"  ▶ {what}  ", "cyan").append(f"{duration(now - since)}\n", "bright_black")
        return text


def name_of(ran: Ran, refs: tuple[str, ...] = ()) -> str:
    """What a check ran on, for people."""
    if ran.what == "own":
        name = refs[ran.number - 1] if ran.number <= len(refs) else f"result {ran.number}"
        what = f"{one_line(short_ids(name), 80)} alone" + (" once more" if ran.again else "")
    else:
        what = "the base" if ran.what == "base" else f"test run {ran.number} of the merge"
    return f"{what}, check {ran.check + 1}"
