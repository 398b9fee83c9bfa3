"""The table of a run's nodes in the HTML report, with what they printed and why they failed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.record import Stored
from bakeoff.report.escape import markup, one_line
from bakeoff.report.outline import Node, walk
from bakeoff.report.words import amounts, duration, size

MOST_SHOWN = 4000
"""Characters of one output that failed nodes show; others show a quarter."""

BUDGET = 16_000_000
"""Characters of output in one report; beyond, only failed nodes show theirs."""


def steps_table(tops: list[Node], history: History, began: float) -> Iterator[str]:
    """The table, in pieces; row N of `walk` has the id `nN`."""
    yield (
        '<table id="steps"><thead><tr><th>Step<th>Type<th>Status<th class="num">Began<th class="num">Took'
        '<th class="num">Tries<th>Result</tr></thead><tbody>'
    )
    spent = 0
    for number, (depth, node) in enumerate(walk(tops)):
        failed = node.status not in ("completed", "skipped", "running")
        details = "".join(_details(node, failed, history)) if failed or spent < BUDGET else ""
        spent += len(details)
        took = duration(node.seconds) if node.seconds is not None else "-"
        started = f"+{duration(node.started_at - began)}" if node.started_at else "-"
        tries = (node.attempts or "") if node.type != "gate" else ""
        yield (
            f'<tr id="n{number}" data-s="{markup(node.status)}"><td '
            f'class="d{min(depth, 9)}" title="{markup(node.path)}">{markup(one_line(node.name, 120))}'
            f'<td>{markup(node.type)}<td><span class="{markup(node.status)}">{markup(node.status)}</span>'
            f'<td class="num">{started}<td class="num">{took}<td class="num">{tries}<td>{details}</tr>\n'
        )
    yield "</tbody></table>"


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
