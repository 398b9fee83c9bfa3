"""HTML report of an optimisation: its verdict, and its part besides the run. All text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engine.record import RunStatus
from bakeoff.optimize.candidate_state import CandidateState
from bakeoff.optimize.plot import plot
from bakeoff.optimize.summary import (
    FUNCTION_HEADS,
    Side,
    cautions,
    fallen,
    function_rows,
    not_compared,
    profiles,
    speedup_of,
    support,
    tests_of,
    unverified,
)
from bakeoff.optimize.view import RunView
from bakeoff.report.diff_markup import diff_markup
from bakeoff.report.escape import markup
from bakeoff.report.table import CODE, NAME, NUMBER, SHORT, TEXT, Cell, Column, Row, cell, status_cell, table
from bakeoff.report.verdict import NONE, WON, Verdict
from bakeoff.report.words import counted

_FUNCTION_KINDS = (NAME, NUMBER, NUMBER, SHORT, SHORT, TEXT)

_CANDIDATE_COLUMNS = [
    Column("candidate", NAME),
    Column("verdict"),
    Column("reason"),
    Column("speed-up"),
    Column("why", TEXT),
]

_PROFILE_COLUMNS = [
    Column("line", NUMBER),
    Column("hits", NUMBER),
    Column("time", NUMBER),
    Column("original", CODE),
    Column("hits", NUMBER),
    Column("time", NUMBER),
    Column("winner", CODE),
]


def optimisation_verdict(found: RunView) -> Verdict | None:
    """Verdict on an optimisation: what won by how much, or that nothing did; None where that is not settled."""
    winner = found.chosen
    if winner is not None:
        shown = "That it behaves the same is shown by" if unverified(found) is None else "Seen of it:"
        why = f"{shown} {support(found)}."
        idea = (f"Idea: {winner.candidate.note}",) if winner.candidate.note else ()
        missing = not_compared(found)
        left_out = () if missing is None else (f"Not compared: {missing}.",)
        return Verdict(
            WON, f"{winner.file} wins{_times(winner)}.", (why, *left_out, *idea), lands=found.result is not None
        )
    if found.options.every and found.winner is not None:
        count = counted(len(found.functions), "function")
        return Verdict(WON, f"{found.winner} of {count} faster.", lands=found.result is not None)
    if found.status is not RunStatus.COMPLETED:
        return None
    count = counted(len(found.entrants), "candidate")
    if found.undecided:
        few = counted(len(found.undecided), "candidate")
        why = f"{few} behaved the same; whether any is faster did not show in the time."
        return Verdict(NONE, f"Nothing is decided, of {count}.", (why,))
    what = counted(len(found.functions), "function") if found.options.every else count
    return Verdict(NONE, f"Nothing was found that behaves the same and is faster, of {what}.")


def _times(winner: CandidateState) -> str:
    """Speedup of the winner, as part of a sentence."""
    speed = None if winner.speed is None else winner.speed.speedup
    if speed is None:
        return ""
    high = "" if speed.high is None else f" to {speed.high:.2f}"
    return f": {speed.estimate:.2f} times as fast as the original (95\u00a0% interval: {speed.low:.2f}{high})"


def optimisation(found: RunView, diff: str | None) -> Iterator[str]:
    """The part of the page that is about candidates, in pieces.

    Args:
        found: how the run stands.
        diff: of the winner; None where there is none.
    """
    if found.chosen is not None:
        yield "".join(
            f'<p class="caution">Before you take it: {markup(text)}</p>' for text in cautions(found, found.chosen)
        )
    if diff is not None:
        yield f"<h2>Diff</h2>{diff_markup(diff)}"
    if found.options.every:
        yield from _functions(found)
    yield from _candidates(found)
    drawn = "".join(plot(found))
    if drawn:
        yield f"<h2>Speed-ups</h2>{drawn}"
        yield '<p class="quiet">A row is a candidate in a race, a bar its 95 % interval, a large dot a measurement of '
        yield "its own after the selection; a bar that reaches the right end has no upper bound. Dashed: what the "
        yield f"lower bound must reach, {found.options.min_speedup:g}x.</p>"
    yield from _profiles(found)
    tests = tests_of(found)
    if tests:
        yield f"<h2>Tests that reach it</h2><p>{markup(', '.join(tests))}</p>"


def _functions(found: RunView) -> Iterator[str]:
    yield "<h2>Functions</h2>"
    columns = [Column(head, kind) for head, kind in zip(FUNCTION_HEADS, _FUNCTION_KINDS, strict=True)]
    rows = []
    for one, texts in zip(found.functions, function_rows(found), strict=True):
        chosen = one.view.chosen
        values = (None, one.ranked.own, one.ranked.calls, None, None if chosen is None else _estimate(chosen), None)
        rows.append(Row([cell(text, value) for text, value in zip(texts, values, strict=True)]))
    yield from table("Functions", columns, rows)


def _candidates(found: RunView) -> Iterator[str]:
    if not found.entrants:
        return
    whys = {entrant.number: why for entrant, why in fallen(found)}
    yield "<h2>Candidates</h2>"
    rows = []
    for number, entrant in found.entrants.items():
        why = "".join(f"<p>{markup(text)}</p>" for text in whys.get(number, ["the winner"]))
        tone = {"ACCEPT": "completed", None: "skipped"}.get(entrant.verdict, "failed")
        cells = [
            cell(f"{number} {entrant.file}{' *' if number == found.winner else ''}", number),
            status_cell(entrant.verdict or "-", tone),
            cell(entrant.reason or "-"),
            cell(speedup_of(entrant), _estimate(entrant)),
            Cell(why),
        ]
        rows.append(Row(cells))
    yield from table("Candidates", _CANDIDATE_COLUMNS, rows)


def _estimate(entrant: CandidateState) -> float | None:
    speed = None if entrant.speed is None else entrant.speed.speedup
    return None if speed is None else speed.estimate


def _profiles(found: RunView) -> Iterator[str]:
    rows = profiles(found)
    if not rows:
        return
    yield "<h2>Line profile</h2>"
    lines = (Row([cell(number, number), *_side(left), *_side(right)]) for number, (left, right) in enumerate(rows, 1))
    yield from table("Line profile", _PROFILE_COLUMNS, lines)
    yield '<p class="quiet">Lines are slower while they are timed: compare lines, not versions.</p>'


def _side(side: Side | None) -> tuple[Cell, Cell, Cell]:
    if side is None:
        return Cell(""), Cell(""), Cell("")
    line = side.line
    code = Cell(f"<pre>{markup(line.text)}</pre>")
    return cell(f"{line.hits:,}", line.hits), cell(f"{side.share:.1%}", side.share), code
