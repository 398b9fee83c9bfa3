"""A run as one HTML file that needs nothing else: no network, no other file. All text in it is escaped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus
from bakeoff.engine.store import RunFolder
from bakeoff.report.escape import markup, one_line
from bakeoff.report.look import PAGE_END, page_head
from bakeoff.report.outline import Node, outline, tally, walk
from bakeoff.report.steps_table import steps_table
from bakeoff.report.table import facts, filter_line
from bakeoff.report.timeline import timeline
from bakeoff.report.verdict import Verdict, banner, verdict_of
from bakeoff.report.words import amounts, duration, moment

MOST_ERRORS = 100
"""Failed nodes that the list of errors names."""

FIRST_ERRORS = 10
"""Of these, how many are seen before the list is unfolded."""


def report_page(
    folder: RunFolder, about: Iterable[str] = (), verdict: Verdict | None = None, go_on: str | None = None
) -> Iterator[str]:
    """The page, in pieces: the verdict, what supports it, then the run.

    Args:
        folder: the run's.
        about: what stands below the verdict: HTML that has been escaped.
        verdict: what the run came to, by its job; how it stands if left out.
        go_on: the command that takes a stopped run up again.

    Passes on JournalError: the journal cannot be read.
    """
    history = folder.history()
    status, error = folder.status_and_error(history)
    tops = outline(history, status)
    nodes = [node for _, node in walk(tops)]
    yield from _head(folder, history, status)
    yield from banner(verdict or verdict_of(folder, history, status, error, nodes, go_on), folder, history)
    yield from about
    outputs = history.ending.get("outputs") or {}
    if outputs:
        yield f"<h2>Outputs</h2>{facts((name, _value(value)) for name, value in outputs.items())}"
    yield from _errors(nodes)
    yield "<h2>Timeline</h2>"
    now = max(time.time(), history.updated_at)
    yield from timeline(history, status, {node.path: number for number, node in enumerate(nodes)}, now)
    yield "<h2>Steps</h2>"
    counts = [(name, f"{name} ({count:,})") for name, count in tally(nodes).items()]
    yield filter_line("Status", [("", "every status"), *counts])
    yield from steps_table(tops, history, float(history.meta.get("created_at") or 0.0))
    yield f"<h2>Run</h2>{facts(_facts(history, nodes))}"
    yield from _definition(folder)
    yield PAGE_END


def _head(folder: RunFolder, history: History, status: RunStatus) -> Iterator[str]:
    yield page_head(f"{history.meta.get('workflow_id') or 'run'} {folder.id}")
    yield (
        f"<h1>{markup(history.meta.get('name') or history.meta.get('workflow_id') or '?')} "
        f'<span class="badge {status}">{status.replace("_", " ")}</span></h1>'
    )
    yield f'<div class="quiet">run {markup(folder.id)}</div>'


def _facts(history: History, nodes: list[Node]) -> Iterator[tuple[str, str]]:
    meta = history.meta
    yield "created", moment(meta.get("created_at"))
    yield "last change", moment(history.updated_at)
    if history.active_seconds:
        yield "active", duration(history.active_seconds)
    yield "steps", ", ".join(f"{count:,} {name}" for name, count in tally(nodes).items()) or "none"
    for name, value in history.inputs.items():
        yield f"input {name}", _value(value)
    yield "used", amounts(history.usage, history.unreported) or "nothing that is paid for"
    if history.damaged:
        yield "damaged", f"journal entries that cannot be read: {len(history.damaged)}"
    for name, what in (("file", "source"), ("bakeoff", "bakeoff")):
        if meta.get(what):
            yield name, str(meta[what])


def _errors(nodes: list[Node]) -> Iterator[str]:
    failed = [(number, node) for number, node in enumerate(nodes) if node.error]
    if not failed:
        return
    yield f"<h2>Errors</h2><ul>{''.join(map(_error, failed[:FIRST_ERRORS]))}</ul>"
    more = failed[FIRST_ERRORS:MOST_ERRORS]
    if more:
        yield f"<details><summary>{len(failed) - FIRST_ERRORS:,} more</summary><ul>{''.join(map(_error, more))}"
        yield f"<li>and {len(failed) - MOST_ERRORS:,} more" if len(failed) > MOST_ERRORS else ""
        yield "</ul></details>"


def _error(failed: tuple[int, Node]) -> str:
    number, node = failed
    said = f'<span class="status failed">{markup(one_line(node.error or ""))}</span>'
    return f'<li><a href="#n{number}">{markup(node.path)}</a>: {said}'


def _definition(folder: RunFolder) -> Iterator[str]:
    for file in sorted(folder.definition.glob("*")) if folder.definition.is_dir() else ():
        try:
            text = file.read_text("utf-8", "replace")[:1_000_000]
        except OSError:
            continue
        yield f"<h2>Definition</h2><details><summary>{markup(file.name)}</summary><pre>{markup(text)}</pre></details>"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 2000 else f"{text[:2000]}…"
