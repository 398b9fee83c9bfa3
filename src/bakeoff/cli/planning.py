"""Preview of a run: what `run --dry-run` and `resume --explain` found out, as a table or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bakeoff.cli.output import print_json, tell
from bakeoff.report.escape import one_line
from bakeoff.report.outline import name_of, parent_of
from bakeoff.report.text_table import table

if TYPE_CHECKING:
    from bakeoff.workflow.explain_walk import Row


def print_plan(rows: Sequence[Row], *, as_json: bool) -> None:
    """The rows as one JSON object, or as a tree with one line a node and a line that counts."""
    counts = Counter(row.action for row in rows)
    if as_json:
        steps = [{"path": row.path, "type": row.type, "action": row.action, "reason": row.reason} for row in rows]
        print_json({"steps": steps, "counts": dict(counts)}, indent=2)
        return
    cells = [
        [f"{'  ' * _depth(row.path)}{one_line(name_of(row.path), 60)}", row.type, row.action, one_line(row.reason)]
        for row in rows
    ]
    for line in table(cells, ["STEP", "TYPE", "ACTION", "WHY"]):
        tell(line)
    tell(
        ", ".join(
            f"{count:,} to {action}" if action != "unknown" else f"{count:,} open" for action, count in counts.items()
        )
    )


def _depth(path: str) -> int:
    depth, above = 0, parent_of(path)
    while above is not None:
        depth, above = depth + 1, parent_of(above)
    return depth
