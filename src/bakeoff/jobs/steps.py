"""Progress of a run of steps: a line for each step and each failure; on a terminal a tree of them that is redrawn."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping

from bakeoff.engine.events import Event, FanOpened, GateOpened, NodeEnded, NodeRetried, RunChanged, Warned
from bakeoff.engine.record import Record, Status, Stored
from bakeoff.jobs.board import Board, Fan, Line
from bakeoff.jobs.progress import Progress, Row, heard_of
from bakeoff.report.escape import one_line
from bakeoff.report.marks import MARKS
from bakeoff.report.outline import halted
from bakeoff.report.words import counted, duration

BETWEEN = 5.0
"""Seconds between two lines about the progress of a fan-out."""

MOST_FAILURES, MOST_ABOVE = 50, 20
"""Failed items and retries that get a line each, elsewhere and above the tree of a terminal; the rest is counted."""

TAIL = 5
"""Lines of a failed command's standard error that are repeated."""

BAR = 24


class StepsProgress(Progress):
    """Formatter of steps; see `Progress`."""

    styles: Mapping[str, str] = {"✗": "red", "↻": "yellow", "!": "yellow", " ": "bright_black"}

    def __init__(self) -> None:
        super().__init__()
        self.board = Board()
        self._failures = 0
        self._next = 0.0

    def told(self, event: Event) -> Iterator[str]:
        """See `Progress`."""
        self.board(event)
        match event:
            case NodeEnded() if event.record.status is Status.FAILED and not event.reused:
                if (yield from self._may_tell()):
                    yield failure(event.record)
                    yield from (f"    {line}" for line in last_words(event.record))
            case NodeRetried():
                if (yield from self._may_tell()):
                    again = f"again in {duration(event.delay)}"
                    yield f"↻ {event.path}: try {event.attempt} failed ({event.error}), {again}"
            case Warned():
                yield f"! {event.path + ': ' if event.path else ''}{event.text}"
        if not self.on_terminal:  # where there is one, the tree says the rest
            yield from self._more(event)

    def _more(self, event: Event) -> Iterator[str]:
        match event:
            case NodeEnded():
                yield from self._ended(event)
            case FanOpened():
                at_once = f", {event.bound} at once" if event.bound else ""
                what = "branch" if self.board.is_parallel(event.path) else "item"
                yield f"▶ {event.path}: {counted(event.total, what)}{at_once}"
            case GateOpened():
                yield f"? {event.path} waits: {event.message} ({' / '.join(event.options)})"
            case RunChanged() if event.status == "running":
                yield f"▶ run {event.run_id}"

    def _ended(self, event: NodeEnded) -> Iterator[str]:
        record = event.record
        fan = self.board.fan_of(record.path)
        is_told = record.status is Status.FAILED and not event.reused
        if not is_told and fan is None and not {":", "/"} & set(record.path) and record.status is not Status.PAUSED:
            yield self._step(record)
        if fan is not None:
            now = time.monotonic()
            if now >= self._next and fan.left + fan.running + fan.paused:
                if self._next:
                    yield f"  {record.path.partition(':')[0]}: {progress(fan)}"
                self._next = now + BETWEEN

    def _step(self, record: Record) -> str:
        line = self.board.lines.get(record.path)
        if line is not None and line.reused:
            return f"✓ {record.path}: kept from before"
        if record.status is Status.SKIPPED:
            return f"- {record.path}: skipped"
        sign, how = ("‖", " halted") if halted(record) else ("✓", "")
        return f"{sign} {record.path} ({record.type}){how}: {duration(record.ended_at - record.started_at)}"

    def _may_tell(self) -> Generator[str, None, bool]:
        """Whether one more failure gets a line."""
        self._failures += 1
        if self._failures == MOST_FAILURES + 1 and not self.on_terminal:
            yield "! further failures of items are counted, not listed; `bakeoff show` and `bakeoff report` list all"
        return self._failures <= (MOST_ABOVE if self.on_terminal else MOST_FAILURES)

    def now(self, room: int) -> Iterator[Row]:
        """The tree, its newest lines where there is no room for all, and the gates that wait."""
        board, gates = self.board, list(self.board.gates.values())
        took = duration(time.monotonic() - board.began)
        yield [(f"run {board.run_id}", "bold"), (f"  {took}", "bright_black")]
        yield from self._tree(max(3, room - 1 - 2 * len(gates)))
        for gate in gates:
            yield [(f"  ? {gate.path}: {self.short(gate.message)}", "yellow")]
            answer = f"bakeoff answer {board.run_id} {gate.path} CHOICE"
            yield [(f"    {' / '.join(gate.options)}: {answer}", "yellow")]

    def last(self) -> Iterator[Row]:
        """The whole tree."""
        yield from self._tree(10_000)

    def _tree(self, room: int) -> Iterator[Row]:
        lines, now = list(self.board.lines.values()), time.monotonic()
        shown = lines[-room:]
        if hidden := self.board.dropped + len(lines) - len(shown):
            yield [(f"  … {hidden:,} steps before these", "bright_black")]
        for line in shown:
            yield self._line(line, now)

    def _line(self, line: Line, now: float) -> Row:
        sign, colour = MARKS["halted" if line.halted else line.status.value]
        row = [(f"{'  ' * (line.depth + 1)}{sign} ", colour), (one_line(line.name, 60), "bold")]
        if line.fan is not None:
            row += _bar(line.fan)
        elif line.type:
            row.append((f" {line.type}", "bright_black"))
        seconds = line.seconds if line.seconds is not None else now - line.began
        heard = "" if line.seconds is not None else heard_of(line.heard, time.time())
        row.append(("  kept from before" if line.reused else f"  {duration(seconds)}{heard}", "bright_black"))
        if line.attempt > 1 and line.type != "gate":
            row.append((f"  try {line.attempt}", "yellow"))
        if line.error:
            row.append((f"  {self.short(line.error, 120)}", "red"))
        return row


def _bar(fan: Fan) -> Row:
    share = BAR / max(1, fan.total)
    done, failed = round(fan.done * share), round((fan.done + fan.failed) * share)
    rest = (f"{'─' * (BAR - failed)}  {progress(fan)}", "bright_black")
    return [(f"  {'━' * done}", "green"), ("━" * (failed - done), "red"), rest]


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
    """Progress of a fan-out, in words."""
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
