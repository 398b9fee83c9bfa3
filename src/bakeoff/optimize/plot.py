"""Speed-ups with their intervals, race by race, as a chart. All text in it is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bakeoff.judge.timing.speed import Speed
from bakeoff.optimize.view import RunView
from bakeoff.report.chart import Line, Tick, bar, chart, dot
from bakeoff.report.escape import one_line

TICKS = (0.01, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000, 1_000_000)

APART = 0.09
"""Of the width, what two marks of the axis must be apart, so that both can be read on a phone."""


def plot(found: RunView) -> Iterator[str]:
    """A line for each candidate of each race, on a logarithmic axis; nothing where nothing was measured."""
    rows = [
        (race, number, speed)
        for race, speeds in enumerate(found.races, 1)
        for number, speed in speeds.items()
        if speed.speedup is not None
    ]
    if not rows:
        return
    axis = _Axis([speed for _, _, speed in rows])
    lines = (_line(found, axis, race, number, speed) for race, number, speed in rows)
    yield from chart("Speed-ups with their intervals", lines, axis.ticks(found.options.min_speedup))


class _Axis:
    """Where a ratio stands, from 0 to 1."""

    def __init__(self, speeds: list[Speed]) -> None:
        values = [1.0]
        for speed in speeds:
            assert speed.speedup is not None
            bounds = (speed.speedup.estimate, speed.speedup.low, speed.speedup.high)
            values += [bound for bound in bounds if bound is not None and 1e-6 < bound < 1e9]
        self.low, self.high = math.log(min(values) / 1.1), math.log(max(values) * 1.1)

    def __call__(self, ratio: float | None) -> float:
        if ratio is None:
            return 1.0
        log = self.low if ratio <= 0 else min(max(math.log(ratio), self.low), self.high)
        return (log - self.low) / (self.high - self.low)

    def ticks(self, least: float) -> list[Tick]:
        """Round ratios that are far enough from each other; and what the lower bound must reach, without a name."""
        marks: list[Tick] = []
        for ratio in TICKS:
            at = self(ratio)
            if self.low <= math.log(ratio) <= self.high and (not marks or at - marks[-1].at >= APART):
                marks.append(Tick(at, f"{ratio:g}x"))
        return [*marks, Tick(self(least), "", cut=True)]


def _line(found: RunView, axis: _Axis, race: int, number: int, speed: Speed) -> Line:
    assert speed.speedup is not None
    entrant, interval = found.entrants[number], speed.speedup
    again = ", measured again" if speed.remeasured else ""
    name = f"race {race}: {number} {entrant.file}{' *' if number == found.winner else ''}"
    tone = {"faster": "completed", "undecided": "paused"}.get(speed.verdict, "failed")
    low, middle, high = axis(interval.low), axis(interval.estimate), axis(interval.high)
    drawn = bar(tone, low, high, 4) + dot(tone, middle, 6 if speed.remeasured else 4)
    return Line(one_line(name, 120), drawn, f"{interval.estimate:.3g}x {speed.verdict}{again}")
