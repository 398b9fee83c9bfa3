"""A hierarchy of subplans as a person reads it on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff.plan.decompose.hierarchy import Hierarchy
from bakeoff.plan.decompose.limits import Limits
from bakeoff.plan.decompose.outline import SHORT, lines
from bakeoff.report.escape import one_line
from bakeoff.report.text_table import table
from bakeoff.report.words import counted


def facts(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Sentences about a whole hierarchy."""
    whole = f"{counted(metrics['files'], 'file')}, {metrics['tokens']:,} tokens: "
    if not metrics["leaves"]:
        yield f"{whole}nothing to split"
    else:
        leaves = f"{metrics['leaves']:,} {'leaf' if metrics['leaves'] == 1 else 'leaves'}"
        yield f"{whole}{leaves} down to depth {metrics['depth']}, {metrics['fill']:.0%} full on average"
    if metrics["edges"]:
        hubless = metrics["cut_without_hubs"]
        without = "" if hubless is None else f"; {hubless:.0%} of those that touch no hub"
        yield f"{counted(metrics['edges'], 'import')}, {metrics['cut']:.0%} of them between leaves{without}"
    if metrics["hubs"]:
        yield f"{counted(metrics['hubs'], 'hub')} apart: files that so many others know belong to no other part"
    if metrics["oversize"]:
        yield f"{counted(metrics['oversize'], 'file')} with more tokens than a subplan may have, each alone"
    if metrics["circles"]:
        sizes = ", ".join(str(len(group)) for group in metrics["circles"])
        yield f"leaves that import each other in a circle: {sizes}"
    if metrics["kept"] is not None:
        yield f"{metrics['kept']:.0%} of the previous leaves are still there"
    if metrics["skipped"]:
        yield "left out: " + ", ".join(f"{count:,} {reason}" for reason, count in metrics["skipped"].items())


def tree(hierarchy: Hierarchy, limits: Limits) -> list[str]:
    """An empty line, then a line a node, parents before children; leaves with their place in the order."""
    rows = []
    for line in lines(hierarchy, limits):
        node = line.node
        marks = ["hub"] * node.hub + ["oversize"] * node.oversize
        if line.circle is not None:
            marks.append(f"circle {line.circle}")
        rows.append(
            [
                "  " * node.depth + one_line(line.name, 80),
                node.id[:SHORT],
                f"{len(node.files):,}",
                f"{node.tokens:,}",
                "" if line.fill is None else f"{line.fill:.0%}",
                "" if line.place is None else str(line.place),
                ", ".join(marks),
            ]
        )
    return ["", *table(rows, ["NODE", "ID", "FILES", "TOKENS", "FILL", "ORDER", ""])] if rows else []
