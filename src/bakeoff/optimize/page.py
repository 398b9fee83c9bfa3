"""What the HTML report of an optimisation shows besides the run: all text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.optimize.plot import plot
from bakeoff.optimize.summary import (
    FUNCTION_HEADS,
    Side,
    cautions,
    cost,
    fallen,
    function_rows,
    profiles,
    speedup_of,
    support,
    tests_of,
    unverified,
)
from bakeoff.optimize.view import RunView
from bakeoff.report.diff_markup import diff_markup
from bakeoff.report.escape import markup
from bakeoff.report.look import table_head


def optimisation(found: RunView, diff: str | None) -> Iterator[str]:
    """The part of the page that is about candidates, in pieces.

    Args:
        found: how the run stands.
        diff: of the winner; None where there is none.
    """
    if found.options.every:
        yield "<h2>Functions</h2>"
        yield table_head(FUNCTION_HEADS)
        for row in function_rows(found):
            yield f"<tr>{''.join(f'<td>{markup(cell)}' for cell in row)}\n"
        yield "</table>"
    else:
        yield from _winner(found)
    if diff is not None:
        yield f"<h2>Diff</h2>{diff_markup(diff)}"
    yield from _candidates(found)
    drawn = "".join(plot(found))
    if drawn:
        yield f"<h2>Speed-ups</h2>{drawn}"
        yield '<p class="quiet">A row is a candidate in a race, a bar its 95 % interval, a large dot a measurement of '
        yield "its own after the selection; a bar that reaches the right end has no upper bound. Dashed: what the "
        yield "lower bound must reach.</p>"
    yield from _profiles(found)


def _winner(found: RunView) -> Iterator[str]:
    winner = found.chosen
    if winner is None:
        yield "<h2>Winner</h2><p>Nothing was found that behaves the same and is faster.</p>"
        return
    yield f"<h2>Winner</h2><p><b>{winner.number} {markup(winner.file)}</b>: {markup(speedup_of(winner))}</p>"
    yield "".join(f'<p class="error">{markup(text)}</p>' for text in cautions(found, winner))
    facts = [
        ("shown by" if unverified(found) is None else "seen of it", support(found)),
        ("tests", ", ".join(tests_of(found))),
        ("used", cost(found)),
    ]
    if winner.candidate.note:
        facts.insert(0, ("idea", winner.candidate.note))
    yield f"<dl>{''.join(f'<dt>{markup(name)}<dd>{markup(text)}' for name, text in facts)}</dl>"


def _candidates(found: RunView) -> Iterator[str]:
    if not found.entrants:
        return
    whys = {entrant.number: why for entrant, why in fallen(found)}
    yield "<h2>Candidates</h2>"
    yield table_head(["candidate", "verdict", "reason", "speed-up", "why"])
    for number, entrant in found.entrants.items():
        why = "<br>".join(markup(text) for text in whys.get(number, ["the winner"]))
        cells = (f"{number} {entrant.file}", entrant.verdict or "-", entrant.reason or "-", speedup_of(entrant))
        yield f"<tr>{''.join(f'<td>{markup(cell)}' for cell in cells)}<td>{why}\n"
    yield "</table>"


def _profiles(found: RunView) -> Iterator[str]:
    rows = profiles(found)
    if not rows:
        return
    yield "<h2>Line profile</h2>"
    yield table_head(["hits", "time", "original", "hits", "time", "winner"])
    for left, right in rows:
        yield f"<tr>{_side(left)}{_side(right)}\n"
    yield '</table><p class="quiet">Lines are slower while they are timed: compare lines, not versions.</p>'


def _side(side: Side | None) -> str:
    if side is None:
        return "<td><td><td>"
    line = side.line
    return f'<td class="num">{line.hits:,}<td class="num">{side.share:.1%}<td><pre>{markup(line.text)}</pre>'
