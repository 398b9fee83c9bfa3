"""The timeline of a run as SVG: which work went on when, at which place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bakeoff.engine.history import History, Start
from bakeoff.engine.record import RunStatus
from bakeoff.report.escape import markup
from bakeoff.report.words import duration

WIDTH = 1000
"""Units across; the picture is as wide as the page."""

LEFT = 34
"""Units for the numbers of the places."""

MOST_DETAILED = 20_000
"""Tries that are drawn each with its name; of more, the shapes alone are drawn."""

GAP = 0.02
"""Of the busy time, what a stretch in which nothing ran is shortened to."""

LEAST_GAP = 0.5
"""Seconds without work that are drawn as they were."""


@dataclass(frozen=True, slots=True)
class Busy:
    """A stretch of time in which something ran, and where it begins in the picture's own time."""

    begin: float
    end: float
    shown: float


class Scale:
    """Maps wall-clock time to the picture: stretches in which nothing ran (a paused run) are cut short."""

    def __init__(self, spans: list[tuple[float, float]]) -> None:
        merged: list[list[float]] = []
        for begin, end in sorted(spans):
            if merged and begin <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([begin, end])
        total = sum(end - begin for begin, end in merged) or 1.0
        cut = max(GAP * total, LEAST_GAP)
        self.busy: list[Busy] = []
        shown = 0.0
        for begin, end in merged:
            if self.busy:
                shown += min(begin - self.busy[-1].end, cut)
            self.busy.append(Busy(begin, end, shown))
            shown += end - begin
        self.length = shown or 1.0
        self.cut = cut
        self._begins = [busy.begin for busy in self.busy]

    def __call__(self, at: float) -> float:
        """The place of a moment, from 0 to 1."""
        busy = self.busy[max(0, bisect_right(self._begins, at) - 1)]
        within = min(max(at - busy.begin, 0.0), busy.end - busy.begin)  # a gap belongs to the end before it
        return (busy.shown + within) / self.length

    def cuts(self) -> Iterator[tuple[float, float]]:
        """Where a gap was cut short, from 0 to 1, and how many seconds it was."""
        for before, after in zip(self.busy, self.busy[1:], strict=False):
            if after.begin - before.end > self.cut:
                yield after.shown / self.length, after.begin - before.end


def timeline(history: History, status: RunStatus, rows: Mapping[str, int], now: float) -> Iterator[str]:
    """The picture, in pieces.

    Args:
        history: what is drawn.
        status: the run's status.
        rows: the number of each node's row in the table, by path.
        now: until when work that has not ended is drawn, seconds since the epoch.
    """
    spans = history.spans
    if not spans:
        yield '<p class="quiet">Nothing has begun yet.</p>'
        return
    last = max(span.ended_at or span.at for span in spans)
    end = now if status is RunStatus.RUNNING else max(last, history.updated_at)
    scale = Scale([(span.at, _end(span, history, end)) for span in spans])
    places = max(span.place for span in spans) + 1
    height = 14 if places <= 32 else 8 if places <= 100 else max(2, 800 // places)
    top, bottom = 4, 4 + places * height
    yield (
        f'<svg viewBox="0 0 {WIDTH} {bottom + 20}" role="img" aria-label="Timeline: one row a place, time from '
        f'left to right">'
    )
    yield from _axis(scale, top, bottom)
    every = max(1, round(12 / height)) if height < 12 else 1
    for place in range(0, places, every):
        yield f'<text x="{LEFT - 6}" y="{top + place * height + height * 0.5 + 3.5:g}" class="row">{place}</text>'
    newest = {span.path: span for span in spans}
    detailed = len(spans) <= MOST_DETAILED
    shapes: dict[str, list[str]] = {}
    for span in spans:
        until = _end(span, history, end)
        left, right = _across(scale(span.at)), _across(scale(until))
        kind = _kind(span, newest[span.path] is span, history, status)
        wide, y = max(right - left, 0.5), top + span.place * height
        if not detailed:
            shapes.setdefault(kind, []).append(f"M{left:.1f} {y + 1}h{wide:.1f}v{height - 2}h-{wide:.1f}z")
            continue
        record = history.records.get(span.path)
        tries = span.attempt > 1 and (record is None or record.type != "gate")
        title = f"{span.path}, {kind}, {duration(until - span.at)}" + f", try {span.attempt}" * tries
        rect = f'<rect class="{kind}" x="{left:.1f}" y="{y + 1}" width="{wide:.1f}" height="{max(1, height - 2)}">'
        number = rows.get(span.path)
        rect += f"<title>{markup(title)}</title></rect>"
        yield f'<a href="#n{number}">{rect}</a>' if number is not None else rect
    for kind, parts in shapes.items():
        yield f'<path class="{kind}" d="{"".join(parts)}"/>'
    yield "</svg>"


def _across(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - 2)


def _end(span: Start, history: History, end: float) -> float:
    """When a try ended; one that was cut off ended nobody knows when, at the latest with its session."""
    if span.ended_at is not None:
        return max(span.ended_at, span.at)
    return max(span.at, end) if span.path in history.open and history.open[span.path] is span else span.at


def _kind(span: Start, newest: bool, history: History, status: RunStatus) -> str:
    """How a try ended, as a class of the picture."""
    if span.ended_at is None:
        return "running" if newest and status is RunStatus.RUNNING else "cancelled"
    record = history.records.get(span.path)
    if newest and record is not None:
        return record.status.value
    return "paused" if record is not None and record.type == "gate" else "failed"


def _axis(scale: Scale, top: float, bottom: float) -> Iterator[str]:
    for share, seconds in scale.cuts():
        x = _across(share)
        yield f'<line class="cut" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}">'
        yield f"<title>nothing ran for {duration(seconds)}</title></line>"
    step = _step(scale.length / 8)
    for number in range(9):
        if number * step > scale.length * 1.001:
            break
        x = _across(number * step / scale.length)
        yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom + 4}"/>'
        anchor = "start" if number == 0 else "end" if x > WIDTH - 30 else "middle"
        yield f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="{anchor}">{duration(number * step)}</text>'


def _step(least: float) -> float:
    """The next round number of seconds that is not below `least`."""
    for step in (60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400):
        if least > 30 and step >= least:
            return float(step)
    size = 1e-3
    while True:
        for factor in (1, 2, 5):
            if size * factor >= least:
                return size * factor
        size *= 10
