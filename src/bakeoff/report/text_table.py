"""Tables of text, as wide as they need to be; on narrow terminals a line for each cell."""

from __future__ import annotations

import shutil
import sys

NARROW = 60
"""Columns of a terminal below which a table that is wider is stacked."""


def table(rows: list[list[str]], heads: list[str], columns: int | None = None) -> list[str]:
    """Lines of a table whose columns are as wide as they need to be; cells must be one visible line each.

    On a narrow terminal of so many `columns` (None: as it is) a wider one has a line for each cell instead.
    """
    if columns is None:
        columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else NARROW
    widths = [max(len(row[place]) for row in [heads, *rows]) for place in range(len(heads))]
    if columns < NARROW and sum(widths) + 2 * (len(widths) - 1) > columns:
        return _stacked(rows, heads)
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [heads, *rows]
    ]


def _stacked(rows: list[list[str]], heads: list[str]) -> list[str]:
    """A line for each cell that says something, those of a row below its first."""
    lines = []
    for row in rows:
        lines.append(f"{heads[0]} {row[0]}")
        lines += [f"  {head}: {cell}" for head, cell in zip(heads[1:], row[1:], strict=True) if cell not in ("", "-")]
    return lines
