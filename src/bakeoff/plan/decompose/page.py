"""A hierarchy as one HTML file that needs nothing else. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bakeoff.plan.decompose.hierarchy import Hierarchy
from bakeoff.plan.decompose.limits import Limits
from bakeoff.plan.decompose.outline import SHORT, Line, lines
from bakeoff.report.escape import markup, one_line
from bakeoff.report.look import PAGE_END, page_head
from bakeoff.report.table import NAME, NUMBER, TEXT, Cell, Column, Row, cell, filter_line, table

MOST_FILES = 200
"""Files that a leaf's row lists."""

_COLUMNS = [
    Column("Node", NAME),
    Column("Order", NUMBER),
    Column("Files", NUMBER),
    Column("Tokens", NUMBER),
    Column("Fill", NUMBER),
    Column("Kind"),
    Column("More", TEXT),
]


def hierarchy_page(hierarchy: Hierarchy, limits: Limits, title: str, facts: Iterable[str]) -> Iterator[str]:
    """The page, in pieces.

    Args:
        hierarchy: what is shown.
        limits: that it was made with.
        title: of the page.
        facts: sentences about the whole.
    """
    yield page_head(title)
    yield f"<h1>{markup(title)}</h1>"
    yield "".join(f'<p class="quiet">{markup(fact)}</p>' for fact in facts)
    yield "<h2>Subplans</h2>"
    yield filter_line("Kind", [("", "every node"), *((kind, kind) for kind in ("inner", "leaf", "hub", "oversize"))])
    yield from table("Subplans", _COLUMNS, map(_row, lines(hierarchy, limits)), tree=True)
    yield PAGE_END


def _row(line: Line) -> Row:
    node = line.node
    kind = "inner" if node.children else "hub" if node.hub else "oversize" if node.oversize else "leaf"
    circle = f", circle {line.circle}" if line.circle else ""
    name = f'{markup(one_line(line.name, 120))} <span class="quiet">{markup(node.id[:SHORT])}</span>'
    cells = [
        Cell(name, depth=min(node.depth, 9)),
        cell(line.place or ""),
        cell(f"{len(node.files):,}", len(node.files)),
        cell(f"{node.tokens:,}", node.tokens),
        cell("" if line.fill is None else f"{line.fill:.0%}", line.fill),
        cell(f"{kind}{circle}"),
        Cell(_files(line)),
    ]
    return Row(cells, node.id, kind)


def _files(line: Line) -> str:
    """The files of a leaf, to be unfolded, and the whole id of any node."""
    node = line.node
    listed = "" if node.children else "\n".join(one_line(path, 400) for path in node.files[:MOST_FILES])
    more = f"\nand {len(node.files) - MOST_FILES:,} more" if listed and len(node.files) > MOST_FILES else ""
    what = "id" if node.children else "files, id"
    return f"<details><summary>{what}</summary><pre>{markup(listed + more)}\n{markup(node.id)}</pre></details>"
