"""Progress of attempts: a line for each thing that happens."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bakeoff.cli.say import say
from bakeoff.engine.events import Event, Events, NodeEnded, NodeStarted, RunChanged, Warned
from bakeoff.engine.record import Status
from bakeoff.report.escape import one_line
from bakeoff.report.words import duration

_PATH = re.compile(r".*/attempt:(\d+)/(?:generate|check:(\d+).*)")


class AttemptLines:
    """Says what happens to each attempt, on standard error.

    Args:
        events: what happens.
    """

    def __init__(self, events: Events) -> None:
        self.mask = events.mask_text
        events.subscribe(self)

    def __call__(self, event: Event) -> None:
        """Say what there is to say of an event."""
        match event:
            case RunChanged() if event.status == "running":
                self._say(f"▶ run {event.run_id}")
            case Warned():
                self._say(f"! {event.text}")
            case NodeStarted():
                found = _PATH.fullmatch(event.path)
                if found is not None and found[2] is None:
                    self._say(f"▶ attempt {found[1]}")
            case NodeEnded():
                self._ended(event)

    def _ended(self, event: NodeEnded) -> None:
        record = event.record
        found = _PATH.fullmatch(record.path)
        if found is None:
            return
        took = "kept from before" if event.reused else duration(record.ended_at - record.started_at)
        what = f"attempt {found[1]}"
        if found[2] is None:
            facts = record.facts or {}
            size = facts.get("diff")
            made = f"{size['files']} changed, +{size['added']} -{size['deleted']}" if size else "nothing changed"
            if record.status is Status.COMPLETED:
                self._say(f"· {what}: {made} ({took})")
            elif record.kind == "unmade":
                self._say(f"- {what}: {record.error}")
            else:
                self._say(f"✗ {what}: {record.kind}: {record.error}")
            return
        verdict = record.output.get("verdict") if record.status is Status.COMPLETED else None
        passed = verdict is not None and verdict["result"]
        why = "" if passed else f": {(verdict or {}).get('reason') or (verdict or {}).get('error') or record.error}"
        self._say(
            f"{'✓' if passed else '✗'} {what}, check {int(found[2]) + 1}{why.splitlines()[0] if why else ''} ({took})"
        )

    def _say(self, text: str) -> None:
        say(one_line(self.mask(text), 400))

    @asynccontextmanager
    async def drawn(self) -> AsyncIterator[None]:
        """Keep the display up to date while the context is open."""
        yield
