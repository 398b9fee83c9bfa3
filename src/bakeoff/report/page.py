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
from bakeoff.report.timeline import timeline
from bakeoff.report.words import amounts, duration, moment

MOST_ERRORS = 100
"""Failed nodes that the list of errors names."""


def report_page(folder: RunFolder, about: Iterable[str] = ()) -> Iterator[str]:
    """The page, in pieces.

    Args:
        folder: the run's.
        about: what stands below the head: HTML that has been escaped.

    Passes on JournalError: the journal cannot be read.
    """
    history = folder.history()
    status, error = folder.status_and_error(history)
    tops = outline(history, status)
    nodes = [node for _, node in walk(tops)]
    yield from _head(folder, history, status, error, nodes)
    yield from about
    yield "<h2>Timeline</h2>"
    now = max(time.time(), history.updated_at)
    yield from timeline(history, status, {node.path: number for number, node in enumerate(nodes)}, now)
    yield '<p class="quiet">A row is a place, a bar is one try of a step. Hover for its name, click for its row.</p>'
    yield from _errors(nodes)
    yield from _filter(nodes)
    yield from steps_table(tops, history, float(history.meta.get("created_at") or 0.0))
    yield from _definition(folder)
    yield PAGE_END


def _head(
    folder: RunFolder, history: History, status: RunStatus, error: str | None, nodes: list[Node]
) -> Iterator[str]:
    yield page_head(f"{history.meta.get('workflow_id') or 'run'} {folder.id}")
    yield (
        f"<h1>{markup(history.meta.get('name') or history.meta.get('workflow_id') or '?')} "
        f'<span class="badge {status}">{status}</span></h1>'
    )
    yield f'<div class="quiet">run {markup(folder.id)}</div>'
    if error:
        yield f'<p class="error">{markup(error)}</p>'
    yield "<dl>"
    for name, text in _facts(history, status, nodes):
        yield f"<dt>{markup(name)}<dd>{markup(text)}\n"
    yield "</dl>"


def _facts(history: History, status: RunStatus, nodes: list[Node]) -> Iterator[tuple[str, str]]:
    meta = history.meta
    yield "created", moment(meta.get("created_at"))
    yield "last change", moment(history.updated_at)
    if history.active_seconds:
        yield "active", duration(history.active_seconds)
    yield "steps", ", ".join(f"{count:,} {name}" for name, count in tally(nodes).items()) or "none"
    for name, value in history.inputs.items():
        yield f"input {name}", _value(value)
    for name, value in (history.ending.get("outputs") or {}).items():
        yield f"output {name}", _value(value)
    yield "used", amounts(history.usage, history.unreported) or "nothing that is paid for"
    gate = history.ending.get("gate")
    if gate and status is RunStatus.PAUSED:
        yield (
            "waits for",
            f"{gate.get('step_id')}: {gate.get('message')} ({' / '.join(map(str, gate.get('options', ())))})",
        )
    if history.damaged:
        yield "damaged", f"journal entries that cannot be read: {len(history.damaged)}"
    yield "file", str(meta.get("source") or "-")
    yield "bakeoff", str(meta.get("bakeoff") or "-")


def _errors(nodes: list[Node]) -> Iterator[str]:
    failed = [(number, node) for number, node in enumerate(nodes) if node.error]
    if not failed:
        return
    yield "<h2>Errors</h2><ul>"
    for number, node in failed[:MOST_ERRORS]:
        yield f'<li><a href="#n{number}">{markup(node.path)}</a>: '
        yield f'<span class="failed">{markup(one_line(node.error or ""))}</span>'
    if len(failed) > MOST_ERRORS:
        yield f"<li>and {len(failed) - MOST_ERRORS:,} more"
    yield "</ul>"


def _filter(nodes: list[Node]) -> Iterator[str]:
    yield '<h2>Steps</h2><p><input id="q" type="search" placeholder="filter by any text" aria-label="Filter"> '
    yield '<select id="s" aria-label="Status"><option value="">every status'
    for name, count in tally(nodes).items():
        yield f'<option value="{markup(name)}">{markup(name)} ({count:,})'
    yield '</select> <span id="n" class="quiet"></span></p>'


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
