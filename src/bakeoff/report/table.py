"""Tables of report pages: their columns sort by click and by key, and many rows are shown in portions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bakeoff.report.escape import markup

PORTION = 500
"""Rows that a page shows at first; `assets/page.js` shows the others when they are asked for."""

SHORT, NUMBER, TEXT, NAME, CODE = "short", "num", "text", "name", "code"
"""Kinds of columns: a word, a number, text that wraps, what the row is about, lines of code."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table: its head, and its kind, which says how it is set and sorted."""

    head: str
    kind: str = SHORT


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell of a row.

    Attributes:
        html: what it shows, escaped.
        value: what it is sorted by, where that is not the text: seconds of `2 m 05 s`.
        depth: how far it is indented, from 0 to 9.
    """

    html: str
    value: float | None = None
    depth: int = 0


def cell(text: object, value: float | None = None) -> Cell:
    """A cell that shows a text."""
    return Cell(markup(text), value)


def status_cell(text: str, status: str) -> Cell:
    """A cell with a text in the tone of a status."""
    return Cell(f'<span class="status {markup(status)}">{markup(text)}</span>')


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a table; of its own it may have an id that links lead to, and a kind that a filter asks for."""

    cells: Iterable[Cell]
    id: str = ""
    kind: str = ""


def table(name: str, columns: list[Column], rows: Iterable[Row], *, tree: bool = False) -> Iterator[str]:
    """A table, in pieces, in a box that scrolls where the table is too wide.

    Args:
        name: what it is, for those who do not see it.
        columns: the first one names what a row is about.
        rows: as many as there are.
        tree: whether the page's filter is for it, and its first column shows a tree, whole paths where it is sorted.
    """
    yield f'<div class="wide" role="region" aria-label="{markup(name)}" tabindex="0"><table'
    yield ' id="steps" class="tree"' if tree else ""
    yield "><thead><tr>"
    for column in columns:
        yield f'<th scope="col" class="{column.kind}"><button type="button">{markup(column.head)}</button></th>'
    yield "</tr></thead><tbody>\n"
    for number, row in enumerate(rows):
        if number and number % PORTION == 0:
            yield "</tbody><tbody hidden>\n"
        yield _row(columns, row)
    yield "</tbody></table></div>\n"


def _row(columns: list[Column], row: Row) -> str:
    own = (f' id="{markup(row.id)}"' if row.id else "") + (f' data-s="{markup(row.kind)}"' if row.kind else "")
    parts = [f"<tr{own}>"]
    for place, (column, one) in enumerate(zip(columns, row.cells, strict=True)):
        tag = "td" if place else 'th scope="row"'
        indent = f" d{one.depth}" if one.depth else ""
        value = "" if one.value is None else f' data-v="{one.value:.6g}"'
        parts.append(f'<{tag} class="{column.kind}{indent}"{value}>{one.html}')
    return f"{''.join(parts)}</tr>\n"


def filter_line(label: str, kinds: Iterable[tuple[str, str]]) -> str:
    """Filter of the table that is a `tree`: by any text, and by kind, each with what it is called."""
    options = "".join(f'<option value="{markup(kind)}">{markup(said)}' for kind, said in kinds)
    return (
        '<p class="filter"><input id="q" type="search" placeholder="filter by any text" aria-label="Filter"> '
        f'<select id="s" aria-label="{markup(label)}">{options}</select> '
        '<span id="n" class="quiet" role="status"></span></p>\n'
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names with what stands for them, as a list."""
    return f'<dl class="facts">{"".join(f"<dt>{markup(name)}<dd>{markup(text)}" for name, text in pairs)}</dl>\n'
