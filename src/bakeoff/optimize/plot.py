"""Speed-ups with their intervals, race by race, as a drawing in SVG. All text in it is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bakeoff.judge.timing.speed import Speed
from bakeoff.optimize.view import RunView
from bakeoff.report.escape import markup, one_line

WIDTH, LEFT, ROW = 900, 240, 18
RIGHT = 90
TICKS = (0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000, 1_000_000)


def plot(found: RunView) -> Iterator[str]:
    """A row for each candidate of each race, on a logarithmic axis; nothing where nothing was measured."""
    rows = [
        (race, number, speed)
        for race, speeds in enumerate(found.races, 1)
        for number, speed in speeds.items()
        if speed.speedup is not None
    ]
    if not rows:
        return
    axis = _Axis([speed for _, _, speed in rows])
    height = ROW * (len(rows) + 2)
    yield f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="speed-ups with their intervals">'
    yield from axis.ticks(height, found.options.min_speedup)
    for place, (race, number, speed) in enumerate(rows):
        yield from _row(found, axis, ROW * (place + 1), race, number, speed)
    yield "</svg>\n"


class _Axis:
    """Where a ratio stands."""

    def __init__(self, speeds: list[Speed]) -> None:
        values = [1.0]
        for speed in speeds:
            assert speed.speedup is not None
            bounds = (speed.speedup.estimate, speed.speedup.low, speed.speedup.high)
            values += [bound for bound in bounds if bound is not None and 1e-6 < bound < 1e9]
        self.low, self.high = math.log(min(values) / 1.1), math.log(max(values) * 1.1)

    def __call__(self, ratio: float | None) -> float:
        if ratio is None:
            return WIDTH - RIGHT
        log = self.low if ratio <= 0 else min(max(math.log(ratio), self.low), self.high)
        return LEFT + (WIDTH - LEFT - RIGHT) * (log - self.low) / (self.high - self.low)

    def ticks(self, height: int, least: float) -> Iterator[str]:
        for tick in TICKS:
            if self.low <= math.log(tick) <= self.high:
                x = self(tick)
                yield f'<path class="tick" d="M{x:.1f} 0V{height - ROW}"/>'
                yield f'<text x="{x:.1f}" y="{height - 5}" text-anchor="middle">{tick:g}x</text>'
        yield f'<path class="cut" d="M{self(least):.1f} 0V{height - ROW}"><title>at least {least:g}x</title></path>'


def _row(found: RunView, axis: _Axis, y: int, race: int, number: int, speed: Speed) -> Iterator[str]:
    assert speed.speedup is not None
    entrant, interval = found.entrants[number], speed.speedup
    name = f"{race}: {number} {entrant.file}{' *' if number == found.winner else ''}"
    colour = {"faster": "completed", "undecided": "paused"}.get(speed.verdict, "failed")
    low, middle, high = axis(interval.low), axis(interval.estimate), axis(interval.high)
    again = ", measured again" if speed.remeasured else ""
    yield f"<g><title>race {markup(name)}: {markup(speed.verdict)}, {speed.pairs} pairs{again}</title>"
    yield f'<text class="row" x="{LEFT - 8}" y="{y + 4}">{markup(one_line(name, 44))}</text>'
    yield f'<rect class="{colour}" x="{low:.1f}" y="{y - 1.5}" width="{max(high - low, 1):.1f}" height="3"/>'
    yield f'<circle class="{colour}" cx="{middle:.1f}" cy="{y}" r="{5 if speed.remeasured else 3}"/>'
    yield f'<text x="{WIDTH - RIGHT + 8}" y="{y + 4}">{interval.estimate:.3g}x</text></g>\n'
