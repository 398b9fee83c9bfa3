"""Progress of attempts: a line for each thing that happens, and what goes on right now."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bakeoff.engine.events import Event, NodeEnded, NodeStarted
from bakeoff.engine.record import Record, Status
from bakeoff.jobs.progress import Progress, took
from bakeoff.judge.timing.bench_lock import LANE as BENCH
from bakeoff.sampling.attempt.preflight import NODE as PREFLIGHT

_PATH = re.compile(r".*/attempt:(\d+)/(?:generate|check:(\d+).*)")


class AttemptProgress(Progress):
    """Formatter of what happens to each attempt; see `Progress`."""

    def noted(self, event: Event) -> Iterator[str]:
        """See `Progress`."""
        match event:
            case NodeStarted():
                yield from self._started(event)
            case NodeEnded() if (found := _PATH.fullmatch(event.record.path)) is not None:
                made = found[2] is None
                yield (_made if made else _judged)(_name(found), event.record, took(event))

    def _started(self, event: NodeStarted) -> Iterator[str]:
        found = _PATH.fullmatch(event.path)
        if event.type == PREFLIGHT:
            what = f"check {event.path.rpartition(':')[2]}, on your files as they are"
            self.begin(event.path, what)
            if not self.on_terminal:
                yield f"▶ {what}"
        if event.type == BENCH:
            self.begin(event.path, "measuring, with the machine alone")
            yield "▶ measuring, with the machine alone"
        if found is not None:
            self.begin(event.path, _name(found))
            if found[2] is None and not self.on_terminal:
                yield f"▶ {_name(found)}"


def _name(found: re.Match[str]) -> str:
    return f"attempt {found[1]}" + ("" if found[2] is None else f", check {int(found[2]) + 1}")


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
