"""HTML report of attempts: their verdict, and their part besides the run. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engine.record import RunStatus
from bakeoff.report.diff_markup import diff_markup
from bakeoff.report.escape import markup
from bakeoff.report.table import NAME, NUMBER, SHORT, Column, Row, cell, status_cell, table
from bakeoff.report.verdict import NONE, WON, Verdict
from bakeoff.report.words import counted
from bakeoff.sampling.attempt.table import notes, table_cells, unmet
from bakeoff.sampling.attempt.view import AttemptView, RunView

_KINDS = {"score": NUMBER, "diff": NUMBER, "cost": NUMBER, "time": NUMBER}
"""Of the columns of the table; the others hold words."""

_REASONS = {"budget exhausted": "All attempts that were asked for were made."}
"""Why a run ended, where its own word for that is not plain."""


def attempts_verdict(found: RunView) -> Verdict | None:
    """Who won, or why nobody did; None where that is not settled."""
    chosen, made = found.chosen, counted(len(found.attempts), "attempt")
    if chosen is not None:
        changed = ("It changed tests.",) if chosen.facts.get("tests_changed") else ()
        words = f"{_called(found, chosen)} wins, of {made}: it passes every check."
        return Verdict(WON, words, changed, lands=True)
    if found.status is not RunStatus.COMPLETED:
        return None
    why = [_REASONS.get(found.reason, f"It ended: {found.reason}.")] if found.reason else []
    if found.closest is not None:
        view = found.attempts[found.closest]
        why.append(f"{_called(found, view)} came closest: {view.met} of {len(found.names)} met.")
    return Verdict(NONE, f"Nothing passed, of {made}.", tuple(why))


def _called(found: RunView, view: AttemptView) -> str:
    return f"Attempt {view.id}" + (f" ({found.options.refs[view.id - 1]})" if found.options.refs else "")


def attempts_part(found: RunView, diff: str | None) -> Iterator[str]:
    """The part of the page that is about attempts, in pieces."""
    if diff is not None:
        yield f"<h2>{'Diff' if found.chosen is not None else 'Diff of the closest'}</h2>{diff_markup(diff)}"
    heads, rows = table_cells(found)
    if not rows:
        return
    yield "<h2>Attempts</h2>"
    columns = [Column(head, _KINDS.get(head, SHORT)) for head in heads]
    columns[0] = Column(heads[0], NAME if found.options.refs else SHORT)
    yield from table(
        "Attempts", columns, (_row(heads, *pair) for pair in zip(found.attempts.values(), rows, strict=True))
    )
    yield "".join(f'<p class="quiet">{markup(line.strip())}</p>' for line in _signs(found))
    yield "".join(f'<p class="quiet">{markup(line.strip())}</p>' for line in notes(found))
    yield from _why(found)


def _row(heads: list[str], view: AttemptView, texts: list[str]) -> Row:
    tone = {"passed": "completed", "failed": "failed", "error": "failed"}.get(view.status, "skipped")
    size = view.facts.get("diff") or {}
    values = {
        "attempt": view.id,
        "score": view.score,
        "speed-up": None if view.speed is None or view.speed.speedup is None else view.speed.speedup.estimate,
        "diff": size.get("added", 0) + size.get("deleted", 0) if size else None,
        "cost": view.usage.get("usd") or view.usage.get("tokens"),
        "time": view.seconds,
    }
    cells = [cell(text, values.get(head)) for head, text in zip(heads, texts, strict=True)]
    cells[1] = status_cell(texts[1], tone)
    return Row(cells)


def _signs(found: RunView) -> Iterator[str]:
    """Legend of the marks behind the numbers of attempts."""
    if found.chosen is not None:
        yield "* the winner"
    if found.closest is not None:
        yield "+ the closest"


def _why(found: RunView) -> Iterator[str]:
    """Why each of the others did not pass."""
    lines = {view.id: unmet(found, view) for view in found.attempts.values() if view.id != found.winner}
    for view in found.attempts.values():
        if view.error is not None:
            lines[view.id] = [f"  {view.kind or 'error'}: {view.error}", *lines.get(view.id, ())]
    told = {number: text for number, text in lines.items() if text}
    if told:
        yield "<h2>Why the others did not pass</h2>"
    for number, text in told.items():
        whole = "\n".join(line.removeprefix("  ") for line in text)
        yield f"<details{' open' if len(told) < 4 else ''}><summary>attempt {number}</summary>"
        yield f"<pre>{markup(whole)}</pre></details>"
