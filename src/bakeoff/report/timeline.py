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
"""Units across, which are stretched over the width of the page; text is not."""

MOST_TICKS = 5
"""Marks of the axis besides the one at its beginning."""

MOST_CUTS = 10
"""Stretches in which nothing ran that are told one by one."""

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
    tall = places * height
    yield f'<div class="places"><svg height="{tall + 22}" aria-hidden="true">'
    every = max(1, -(-14 // height))
    for place in range(0, places, every):
        yield f'<text x="85%" y="{place * height + min(height, 14) * 0.5 + 4:g}" class="row">{place}</text>'
    yield f'</svg><svg height="{tall + 22}" role="img" aria-label="Timeline: one row a place, time from left to right">'
    yield f'<svg viewBox="0 0 {WIDTH} {tall}" height="{tall}" preserveAspectRatio="none">'
    yield from _lines(scale, tall)
    yield from _bars(history, status, rows, scale, (height, end))
    yield "</svg>"
    yield from _times(scale, tall)
    yield "</svg></div>"
    yield from _legend(scale)


def _bars(
    history: History, status: RunStatus, rows: Mapping[str, int], scale: Scale, extent: tuple[int, float]
) -> Iterator[str]:
    """A bar for each try; `extent` is how tall a row is, and until when open ones are drawn."""
    height, end = extent
    newest = {span.path: span for span in history.spans}
    detailed = len(history.spans) <= MOST_DETAILED
    shapes: dict[str, list[str]] = {}
    for span in history.spans:
        until = _end(span, history, end)
        left, right = scale(span.at) * WIDTH, scale(until) * WIDTH
        kind = _kind(span, newest[span.path] is span, history, status)
        wide, y = max(right - left, 0.5), span.place * height
        if not detailed:
            shapes.setdefault(kind, []).append(f"M{left:.1f} {y + 1}h{wide:.1f}v{height - 2}h-{wide:.1f}z")
            continue
        record = history.records.get(span.path)
        tries = span.attempt > 1 and (record is None or record.type != "gate")
        title = f"{span.path}, {kind}, {duration(until - span.at)}" + f", try {span.attempt}" * tries
        rect = f'<rect class="{kind}" x="{left:.1f}" y="{y + 1}" width="{wide:.1f}" height="{max(1, height - 2)}">'
        number = rows.get(span.path)
        rect += f"<title>{markup(title)}</title></rect>"
        # The table has the same for the keyboard: thousands of links would stand before it.
        yield f'<a href="#n{number}" tabindex="-1">{rect}</a>' if number is not None else rect
    for kind, parts in shapes.items():
        yield f'<path class="{kind}" d="{"".join(parts)}"/>'


def _end(span: Start, history: History, end: float) -> float:
    """When a try ended; one that was cut off ended nobody knows when, at the latest with its session."""
    if span.ended_at is not None:
        return max(span.ended_at, span.at)
    return max(span.at, end) if span.path in history.open and history.open[span.path] is span else span.at


def _kind(span: Start, newest: bool, history: History, status: RunStatus) -> str:
    """Class of a try in the picture, by how it ended."""
    if span.ended_at is None:
        return "running" if newest and status is RunStatus.RUNNING else "cancelled"
    record = history.records.get(span.path)
    if newest and record is not None:
        return record.status.value
    return "paused" if record is not None and record.type == "gate" else "failed"


def _lines(scale: Scale, tall: int) -> Iterator[str]:
    for at, _ in _ticks(scale):
        yield f'<line class="tick" x1="{at * WIDTH:.1f}" x2="{at * WIDTH:.1f}" y1="0" y2="{tall}"/>'
    for at, _ in scale.cuts():
        yield f'<line class="cut" x1="{at * WIDTH:.1f}" x2="{at * WIDTH:.1f}" y1="0" y2="{tall}"/>'


def _times(scale: Scale, tall: int) -> Iterator[str]:
    for at, seconds in _ticks(scale):
        anchor = "start" if at == 0 else "end" if at > 0.95 else "middle"
        yield f'<text x="{at:.2%}" y="{tall + 16}" text-anchor="{anchor}">{duration(seconds)}</text>'


def _ticks(scale: Scale) -> Iterator[tuple[float, float]]:
    """Where the axis has a mark, from 0 to 1, and its seconds; few enough to stand beside each other on a phone."""
    step = _step(scale.length / MOST_TICKS)
    for number in range(MOST_TICKS + 1):
        if number * step <= scale.length * 1.001:
            yield number * step / scale.length, number * step


def _legend(scale: Scale) -> Iterator[str]:
    yield '<p class="quiet">A row is a place where one step runs at a time, a bar is one try of a step. '
    yield "Select a bar to go to its row in the table."
    cuts = [f"nothing ran for {duration(seconds)}" for _, seconds in scale.cuts()]
    if cuts:
        more = f", and {len(cuts) - MOST_CUTS:,} more" if len(cuts) > MOST_CUTS else ""
        yield f" Dashed lines are cuts, from left to right: {', '.join(cuts[:MOST_CUTS])}{more}."
    yield "</p>"


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
