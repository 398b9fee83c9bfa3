"""Progress of a merge: a line for each thing that is known, and which checks run right now."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engine.events import Event, NodeEnded, NodeStarted
from bakeoff.jobs.progress import Progress, took
from bakeoff.plan.events import QueueSaid
from bakeoff.plan.queue.view import Ran
from bakeoff.report.escape import one_line
from bakeoff.report.words import counted, short_ids
from bakeoff.sampling.attempt.preflight import NODE as PREFLIGHT


class MergeProgress(Progress):
    """Formatter of a merge; see `Progress`."""

    def __init__(self, refs: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.refs = refs

    def noted(self, event: Event) -> Iterator[str]:
        """See `Progress`."""
        match event:
            case QueueSaid():
                yield f"· {short_ids(event.text)}"
            case NodeStarted() if event.type == PREFLIGHT:
                self.begin(event.path, f"the base first, check {event.path.rpartition(':')[2]}")
            case NodeStarted() if (ran := Ran.at(event.path)) is not None:
                self.begin(event.path, name_of(ran, self.refs))
            case NodeEnded() if (ran := Ran.at(event.record.path, event.record)) is not None:
                name = name_of(ran, self.refs)
                if ran.verdict is not None and ran.verdict.result:
                    yield f"✓ {name} ({took(event)})"
                    return
                said = ran.error if ran.verdict is None else ran.verdict.reason or ran.verdict.error
                yield f"✗ {name}: {(said or 'failed').splitlines()[0]} ({took(event)})"

    def head(self) -> str:
        """See `Progress`."""
        return f"{counted(len(self.running), 'check')} running"


def name_of(ran: Ran, refs: tuple[str, ...] = ()) -> str:
    """Name of what a check ran on, for people."""
    if ran.what == "own":
        name = refs[ran.number - 1] if ran.number <= len(refs) else f"result {ran.number}"
        what = f"{one_line(short_ids(name), 80)} alone" + (" once more" if ran.again else "")
    else:
        what = "the base" if ran.what == "base" else f"test run {ran.number} of the merge"
    return f"{what}, check {ran.check + 1}"
