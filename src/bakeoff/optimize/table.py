"""Table of an optimisation, why candidates fell, and what is printed when a session is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bakeoff.engine.record import RunStatus
from bakeoff.errors import BakeoffError
from bakeoff.jobs.job import OpenRun
from bakeoff.jobs.landing import Work, diff_lines, shown_diff
from bakeoff.jobs.landing_options import LandingOptions
from bakeoff.jobs.outcome import stopped_lines
from bakeoff.judge.timing.undecided import NEEDED
from bakeoff.optimize.all_functions.ranked import Ranked
from bakeoff.optimize.candidate_state import CandidateState
from bakeoff.optimize.summary import (
    FUNCTION_HEADS,
    Side,
    cautions,
    cost,
    fallen,
    function_rows,
    not_compared,
    profiles,
    set_aside,
    speedup_of,
    support,
    tests_of,
    uncollected,
    unverified,
)
from bakeoff.optimize.view import JOB_NAME, RunView
from bakeoff.report.escape import one_line, visible
from bakeoff.report.text_table import table
from bakeoff.report.words import counted, has_no_winner

TESTS = 5
"""That are named."""

WIDTH = 56
"""Columns of a line of code in the profile."""

HEADS = ["candidate", "verdict", "reason", "speed-up", "why"]


def ranking_lines(ranked: list[Ranked], top: int) -> list[str]:
    """Which functions a run for all would take, in which order."""
    rows = [
        [f"{number} {one.target}", f"{1e3 * one.own:,.1f} ms", f"{one.calls:,}"] for number, one in enumerate(ranked, 1)
    ]
    more = [f"and {len(rows) - top} more: see --top"] if len(rows) > top else []
    return [*table(rows[:top], FUNCTION_HEADS[:3]), *more]


def table_lines(found: RunView) -> list[str]:
    """A line for each candidate, or for each function where there are several."""
    if found.options.every:
        rows = [[one_line(cell, 80) for cell in row] for row in function_rows(found)]
        return table(rows, FUNCTION_HEADS) if rows else []
    rows = [_row(found, entrant) for entrant in found.entrants.values()]
    return table(rows, HEADS) if rows else []


def _row(found: RunView, entrant: CandidateState) -> list[str]:
    name = f"{entrant.number} {entrant.file}{' *' if entrant.number == found.winner else ''}"
    cells = [name, entrant.verdict or "-", entrant.reason or "-", speedup_of(entrant), entrant.detail or "-"]
    return [one_line(cell, 80) for cell in cells]


def work_of(run: str, found: RunView) -> Work:
    """The winner, to be shown and landed.

    Raises:
        BakeoffError: there is none.
    """
    if found.winner is None or found.result is None:
        raise BakeoffError(has_no_winner(f"run {run}", found.status))
    title = f"Make {found.options.subject} faster"
    number = None if found.options.every else found.winner
    return Work(run, "passed", found.result, title, number, noun="candidate")


def winners_diff(project: Path, run: str, found: RunView) -> str | None:
    """The winner's diff as text; None where there is no winner, or it is not kept any more."""
    if found.winner is None or found.result is None:
        return None
    try:
        return shown_diff(project, work_of(run, found), False)
    except BakeoffError:
        return None


def ending_lines(run: OpenRun, found: RunView, landing: LandingOptions) -> Iterator[str]:
    """Lines that are printed when a session is over: the table, what was used, the winner or why there is none."""
    ending = run.ended
    assert ending is not None
    yield from (*table_lines(found), *explanation(found))
    if found.usage:
        yield f"used: {cost(found)}"
    if found.chosen is not None:
        yield from _winner_lines(run, found, found.chosen, landing)
    elif found.options.every and found.winner is not None:
        yield from _winners_lines(run, found, landing)
    if found.winner is not None and ending.status is not RunStatus.BUDGET_SPENT:
        return
    if ending.status is RunStatus.COMPLETED:
        yield from _no_winner_lines(run.folder.id, found)
    else:
        yield from stopped_lines(run.folder.id, ending, JOB_NAME)


def _no_winner_lines(run: str, found: RunView) -> Iterator[str]:
    if (missing := unverified(found)) is not None:
        yield f"! {missing}"
    if not found.entrants:
        other = "other candidates come from --candidate FILE, --model and --agent"
        yield f"run {run}: nothing was proposed: no rule finds anything to rewrite; {other}"
        return
    if not found.undecided:
        yield f"run {run}: nothing was found that behaves the same and is faster"
        return
    count = counted(len(found.undecided), "candidate")
    yield f"run {run}: nothing is decided: {count} behaved the same; whether any is faster did not show"
    least = 3 * found.options.seconds
    needed = [state.speed.receipt.get(NEEDED, least) for state in found.undecided if state.speed is not None]
    if seconds := max((max(least, float(each)) for each in needed if each is not None), default=None):
        amount = f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"
        yield f"  measure longer with: bakeoff resume {run} -i seconds={amount}"


def _winners_lines(run: OpenRun, found: RunView, landing: LandingOptions) -> Iterator[str]:
    """Of a run for all functions."""
    for one in found.functions:
        if (chosen := one.view.chosen) is not None:
            yield from (f"  ! {one.ranked.target}: {text}" for text in cautions(one.view, chosen))
    yield f"run {run.folder.id}: {found.winner} of {counted(len(found.functions), 'function')} faster"
    yield from _diff_lines(run, found, landing)


def explanation(found: RunView) -> list[str]:
    """Why each other candidate fell, and where the time goes in the original and in the winner."""
    lines = []
    for entrant, why in fallen(found):
        lines.append(f"  {entrant.number} {one_line(entrant.file, 80)}: {one_line(why[0], 300)}")
        lines += [f"      {one_line(text, 300)}" for text in why[1:]]
    return lines


def profile_lines(found: RunView) -> list[str]:
    """Both line profiles side by side: hits, part of the time, text; nothing where there is none."""
    rows = profiles(found)
    if not rows:
        return []
    cells = [[*_side(left), *_side(right)] for left, right in rows]
    return table(cells, ["hits", "time", "original", "hits", "time", f"candidate {found.winner}"])


def _side(side: Side | None) -> list[str]:
    if side is None:
        return ["", "", ""]
    text = visible(side.line.text.expandtabs(4).replace("\n", " "))
    return [f"{side.line.hits:,}", f"{side.share:.0%}", text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"]


def _winner_lines(run: OpenRun, found: RunView, winner: CandidateState, landing: LandingOptions) -> Iterator[str]:
    yield f"run {run.folder.id}: candidate {winner.number}, {winner.file}, wins: {speedup_of(winner)}"
    yield f"  {'shown by' if unverified(found) is None else 'seen of it:'} {support(found)}"
    names = tests_of(found)
    yield from (f"    {one_line(name)}" for name in names[:TESTS])
    if len(names) > TESTS:
        yield f"    and {len(names) - TESTS} more"
    if aside := set_aside(found):
        yield f"  set aside, as they judge nothing while calls are noted: {counted(len(aside), 'test')}"
        yield from (f"    {one_line(text, 200)}" for text in aside[:TESTS])
    if lost := uncollected(found):
        yield f"  tests of {counted(len(lost), 'file')} could not be collected, and judge nothing"
        yield from (f"    {one_line(text, 200)}" for text in lost[:TESTS])
    if (missing := not_compared(found)) is not None:
        yield f"  not compared: {missing}"
    if winner.candidate.note:
        yield f"  {winner.candidate.note}"
    yield from (f"  ! {text}" for text in cautions(found, winner))
    yield from (f"  {line}" for line in profile_lines(found))
    yield from _diff_lines(run, found, landing)


def _diff_lines(run: OpenRun, found: RunView, landing: LandingOptions) -> Iterator[str]:
    yield from diff_lines(run.folder.id, winners_diff(run.project, run.folder.id, found) or "")
    if not landing.takes:
        yield f"  take it with: bakeoff apply {run.folder.id}"
