"""The table of a run's nodes in the HTML report, with what they printed and why they failed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.record import Stored
from bakeoff.report.escape import markup, one_line
from bakeoff.report.outline import Node, walk
from bakeoff.report.table import NAME, NUMBER, TEXT, Cell, Column, Row, cell, status_cell, table
from bakeoff.report.words import amounts, duration, size

MOST_SHOWN = 4000
"""Characters of one output that failed nodes show; others show a quarter."""

BUDGET = 16_000_000
"""Characters of output in one report; beyond, only failed nodes show theirs."""


_COLUMNS = [
    Column("Step", NAME),
    Column("Type"),
    Column("Status"),
    Column("Began", NUMBER),
    Column("Took", NUMBER),
    Column("Tries", NUMBER),
    Column("Result", TEXT),
]


def steps_table(tops: list[Node], history: History, began: float) -> Iterator[str]:
    """The table, in pieces; row N of `walk` has the id `nN`."""
    yield from table("Steps", _COLUMNS, _rows(tops, history, began), tree=True)


def _rows(tops: list[Node], history: History, began: float) -> Iterator[Row]:
    spent = 0
    for number, (depth, node) in enumerate(walk(tops)):
        failed = node.status not in ("completed", "skipped", "running")
        details = "".join(_details(node, failed, history)) if failed or spent < BUDGET else ""
        spent += len(details)
        tries = (node.attempts or "") if node.type != "gate" else ""
        since = node.started_at - began if node.started_at else None
        cells = [
            _name(node, depth),
            cell(node.type),
            status_cell(node.status, node.status),
            cell("-") if since is None else cell(f"+{duration(since)}", since),
            cell(duration(node.seconds), node.seconds),
            cell(tries),
            Cell(details),
        ]
        yield Row(cells, f"n{number}", node.status)


def _name(node: Node, depth: int) -> Cell:
    """Name of a node among its siblings; in a table that is sorted, and has no tree, its path instead."""
    name = markup(one_line(node.name, 120))
    if node.path == node.name:
        return Cell(name, depth=min(depth, 9))
    path = markup(one_line(node.path, 400))
    return Cell(f'<span class="own">{name}</span><span class="path">{path}</span>', depth=min(depth, 9))


def _details(node: Node, failed: bool, history: History) -> Iterator[str]:
    limit = MOST_SHOWN if failed else MOST_SHOWN // 4
    if node.error:
        yield f'<div class="error">{markup(node.error[:MOST_SHOWN])}</div>'
    if node.record is not None and node.record.continued:
        yield '<div class="quiet">the run went on after it</div>'
    if node.retries:
        yield "<details><summary>earlier tries</summary><ol>"
        yield "".join(f"<li>{markup(error[:limit])}</li>" for error in node.retries[:50])
        yield "</ol></details>"
    if node.record is None:
        return
    given = _given(node.record.input)
    if given:
        yield f"<details><summary>input</summary><pre>{markup(_tail(given, limit))}</pre></details>"
    for name in ("stderr", "stdout", "text"):
        value = node.record.output.get(name)
        text, note = _text(value)
        if text.strip():
            opened = " open" if failed and name == "stderr" else ""
            yield f"<details{opened}><summary>{name}{markup(note)}</summary><pre>"
            yield f"{markup(_tail(text, limit))}</pre></details>"
    trace = (node.record.facts or {}).get("traceback")
    if isinstance(trace, str):
        yield f"<details><summary>traceback</summary><pre>{markup(_tail(trace, limit))}</pre></details>"
    if node.record.usage:
        unreported = node.record.usage.get("assumed", {})
        usage = {name: value for name, value in node.record.usage.items() if isinstance(value, int | float)}
        yield f'<div class="quiet">used {markup(amounts(usage, unreported))}</div>'


def _given(given: Mapping[str, Any]) -> str:
    for name in ("run", "prompt", "message"):
        if isinstance(given.get(name), str):
            return str(given[name])
    if "argv" in given:
        return " ".join(map(str, given["argv"]))
    return json.dumps(given, ensure_ascii=False, default=str) if given else ""


def _text(value: Any) -> tuple[str, str]:
    """The text of an output and a note on its size."""
    if isinstance(value, Stored):
        return value.excerpt, f" ({size(value.size)}; head and tail)"
    return (value, "") if isinstance(value, str) else ("", "")


def _tail(text: str, limit: int) -> str:
    """The end of a text: what went wrong stands there."""
    if len(text) <= limit:
        return text
    return f"[... {len(text) - limit:,} characters left out ...]\n{text[-limit:]}"
