"""Charts of report pages: a line for each thing, with its name, its bar as SVG, and its figure in words.

Bars are drawn in percent of the width that a page leaves them, text keeps its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bakeoff.report.escape import markup

ROW = 20
"""Pixels that a line is tall."""


@dataclass(frozen=True, slots=True)
class Line:
    """Line of a chart.

    Attributes:
        drawn: shapes of SVG, escaped: `x` and widths in percent, `y` up to `ROW`.
        figure: what the shapes show, in words.
    """

    label: str
    drawn: str
    figure: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Mark of the axis: where it stands, from 0 to 1, and what it is called; `cut` is a bound that counts."""

    at: float
    label: str
    cut: bool = False


def chart(name: str, lines: Iterable[Line], ticks: list[Tick]) -> Iterator[str]:
    """The chart, in pieces; its axis is drawn behind each line, and named below the last."""
    behind = "".join(
        f'<line class="{"cut" if tick.cut else "tick"}" x1="{tick.at:.2%}" x2="{tick.at:.2%}" y1="0" y2="{ROW}"/>'
        for tick in ticks
    )
    yield f'<div class="chart" role="group" aria-label="{markup(name)}">\n'
    for line in lines:
        yield f'<div><span class="label">{markup(line.label)}</span>'
        yield f'<svg height="{ROW}" aria-hidden="true">{behind}{line.drawn}</svg>'
        yield f'<span class="figure">{markup(line.figure)}</span></div>\n'
    yield f'<div><span class="label"></span><svg height="{ROW}" aria-hidden="true">'
    for tick in ticks:
        anchor = "start" if tick.at < 0.05 else "end" if tick.at > 0.95 else "middle"
        yield f'<text x="{tick.at:.2%}" y="14" text-anchor="{anchor}">{markup(tick.label)}</text>'
    yield '</svg><span class="figure"></span></div></div>\n'


def bar(kind: str, begin: float, end: float, thick: int = 10) -> str:
    """A bar in the tone of a status, from `begin` to `end`, both from 0 to 1; a moment is seen, too."""
    wide = max(end - begin, 0.002)
    y = (ROW - thick) / 2
    return f'<rect class="{kind}" x="{begin:.2%}" y="{y:g}" width="{wide:.2%}" height="{thick}"/>'


def dot(kind: str, at: float, radius: int) -> str:
    """A dot in the tone of a status."""
    return f'<circle class="{kind}" cx="{at:.2%}" cy="{ROW / 2:g}" r="{radius}"/>'
