"""A hierarchy as one HTML file that needs nothing else. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bakeoff.plan.decompose.hierarchy import Hierarchy
from bakeoff.plan.decompose.limits import Limits
from bakeoff.plan.decompose.outline import SHORT, Line, lines
from bakeoff.report.escape import markup, one_line
from bakeoff.report.look import PAGE_END, page_head

MOST_FILES = 200
"""Files that a leaf's row lists."""


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
    yield '<h2>Subplans</h2><p><input id="q" type="search" placeholder="filter by any text" aria-label="Filter"> '
    yield '<select id="s" aria-label="Kind"><option value="">every node'
    yield "".join(f'<option value="{kind}">{kind}' for kind in ("inner", "leaf", "hub", "oversize"))
    yield '</select> <span id="n" class="quiet"></span></p>'
    yield '<table id="steps"><thead><tr><th>Node<th class="num">Order<th class="num">Files<th class="num">Tokens'
    yield '<th class="num">Fill<th>Kind<th>Files of the leaf</tr></thead><tbody>'
    for line in lines(hierarchy, limits):
        yield _row(line)
    yield f"</tbody></table>{PAGE_END}"


def _row(line: Line) -> str:
    node = line.node
    kind = "inner" if node.children else "hub" if node.hub else "oversize" if node.oversize else "leaf"
    circle = f", circle {line.circle}" if line.circle else ""
    listed = "\n".join(one_line(path, 400) for path in node.files[:MOST_FILES])
    more = f"\nand {len(node.files) - MOST_FILES:,} more" if len(node.files) > MOST_FILES else ""
    files = "" if node.children else f"<details><summary>files</summary><pre>{markup(listed + more)}</pre></details>"
    return (
        f'<tr id="{markup(node.id)}" data-s="{kind}"><td class="d{min(node.depth, 9)}" title="{markup(node.id)}">'
        f'{markup(one_line(line.name, 120))} <span class="quiet">{markup(node.id[:SHORT])}</span>'
        f'<td class="num">{line.place or ""}<td class="num">{len(node.files):,}<td class="num">{node.tokens:,}'
        f'<td class="num">{"" if line.fill is None else f"{line.fill:.0%}"}<td>{kind}{circle}<td>{files}</tr>\n'
    )
