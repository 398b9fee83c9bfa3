"""What the HTML report of attempts shows besides the run: the verdict first. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.cli.attempt_table import notes, table_cells, unmet
from bakeoff.report.diff_markup import diff_markup
from bakeoff.report.escape import markup
from bakeoff.report.look import table_head
from bakeoff.sampling.attempt.view import RunView


def attempts_part(found: RunView, diff: str | None) -> Iterator[str]:
    """The part of the page that is about attempts, in pieces.

    Args:
        found: how the run stands.
        diff: of the winner, or else of the closest; None where there is neither.
    """
    chosen = found.chosen
    if chosen is not None:
        yield f"<h2>Winner</h2><p><b>attempt {chosen.id}</b> of {len(found.attempts)} passed and is taken.</p>"
    else:
        closest = "" if found.closest is None else f"; attempt {found.closest} came closest"
        yield f"<h2>Winner</h2><p>None: {markup(found.reason or 'nothing passed')}{closest}.</p>"
    if diff is not None:
        yield f"<h2>{'Diff' if chosen is not None else 'Diff of the closest'}</h2>{diff_markup(diff)}"
    heads, rows = table_cells(found)
    if not rows:
        return
    yield f"<h2>Attempts</h2>{table_head(heads)}"
    for view, row in zip(found.attempts.values(), rows, strict=True):
        colour = {"passed": "completed", "failed": "failed", "error": "failed"}.get(view.status, "skipped")
        cells = [markup(cell) for cell in row]
        cells[1] = f'<span class="{colour}">{cells[1]}</span>'
        yield f"<tr>{''.join(f'<td>{cell}' for cell in cells)}\n"
    yield "</table>"
    yield "".join(f'<p class="quiet">{markup(line.strip())}</p>' for line in notes(found))
    yield from _why(found)


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
