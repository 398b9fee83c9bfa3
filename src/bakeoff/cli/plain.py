"""Progress as plain lines on standard error: for logs, pipes, and terminals that cannot do more."""

from __future__ import annotations

import time
from collections.abc import Callable

from bakeoff.cli.board import Board, Fan
from bakeoff.cli.say import say
from bakeoff.engine.events import Event, FanOpened, GateOpened, NodeEnded, NodeRetried, RunChanged, Warned
from bakeoff.engine.record import Record, Status, Stored
from bakeoff.report.escape import one_line, visible
from bakeoff.report.outline import halted
from bakeoff.report.words import counted, duration

BETWEEN = 5.0
"""Seconds between two lines about the progress of a fan-out."""

MOST_FAILURES = 50
"""Failed items and retries that get a line each; the rest is only counted."""

TAIL = 5
"""Lines of a failed command's standard error that are repeated."""


class PlainDisplay:
    """One line for each top-level step and each failure, and now and then one for a fan-out under way.

    Args:
        mask: keeps secrets out of what is shown.
    """

    def __init__(self, mask: Callable[[str], str]) -> None:
        self.board = Board()
        self.mask = mask
        self._failures = 0
        self._next = 0.0

    def __call__(self, event: Event) -> None:
        """Take in an event and say what there is to say."""
        self.board(event)
        match event:
            case NodeEnded():
                self._ended(event)
            case NodeRetried() if self._may_tell():
                self._say(
                    f"↻ {event.path}: try {event.attempt} failed ({event.error}), again in {duration(event.delay)}"
                )
            case FanOpened():
                at_once = f", {event.bound} at once" if event.bound else ""
                what = "branch" if self.board.is_parallel(event.path) else "item"
                self._say(f"▶ {event.path}: {counted(event.total, what)}{at_once}")
            case GateOpened():
                self._say(f"? {event.path} waits: {event.message} ({' / '.join(event.options)})")
            case Warned():
                self._say(f"! {event.path + ': ' if event.path else ''}{event.text}")
            case RunChanged() if event.status == "running":
                self._say(f"▶ run {event.run_id}")

    def _ended(self, event: NodeEnded) -> None:
        record = event.record
        fan = self.board.fan_of(record.path)
        if record.status is Status.FAILED and not event.reused:
            if self._may_tell():
                self._say(failure(record))
                for line in last_words(record):
                    self._say(f"    {line}")
        elif fan is None and ":" not in record.path and "/" not in record.path and record.status is not Status.PAUSED:
            self._say(self._line(record))
        if fan is not None:
            now = time.monotonic()
            if now >= self._next and fan.left + fan.running + fan.paused:
                if self._next:
                    self._say(f"  {record.path.partition(':')[0]}: {progress(fan)}")
                self._next = now + BETWEEN

    def _line(self, record: Record) -> str:
        line = self.board.lines.get(record.path)
        if line is not None and line.reused:
            return f"✓ {record.path}: kept from before"
        if record.status is Status.SKIPPED:
            return f"- {record.path}: skipped"
        sign, how = ("‖", " halted") if halted(record) else ("✓", "")
        return f"{sign} {record.path} ({record.type}){how}: {duration(record.ended_at - record.started_at)}"

    def _may_tell(self) -> bool:
        self._failures += 1
        if self._failures == MOST_FAILURES + 1:
            say("! further failures of items are counted, not listed; `bakeoff show` and `bakeoff report` list all")
        return self._failures <= MOST_FAILURES

    def _say(self, text: str) -> None:
        say(one_line(self.mask(text), 400) if not text.startswith("    ") else visible(self.mask(text)))


def failure(record: Record) -> str:
    """One line on a node that failed."""
    tries = f" after {record.attempts} tries" if record.attempts > 1 and record.type != "gate" else ""
    more = "; the run goes on" if record.continued else ""
    return f"✗ {record.path} failed{tries}: {record.error}{more}"


def last_words(record: Record) -> list[str]:
    """The last lines that a failed command printed on standard error."""
    value = record.output.get("stderr")
    text = value.excerpt if isinstance(value, Stored) else value
    return [line[:300] for line in text.rstrip().splitlines()[-TAIL:]] if isinstance(text, str) else []


def progress(fan: Fan) -> str:
    """How far a fan-out is, in words."""
    parts = [f"{fan.done:,} of {fan.total:,} done"]
    if fan.running:
        parts.append(f"{fan.running} running")
    if fan.failed:
        parts.append(f"{fan.failed:,} failed")
    if fan.paused:
        parts.append(f"{fan.paused:,} waiting")
    if fan.left:
        parts.append(f"{fan.left:,} left")
    return ", ".join(parts)
