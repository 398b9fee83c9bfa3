"""What `optimize` and `resume` share: a session under a display, its table, landing, and its exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from bakeoff.cli.attempting import NO_WINNER, SHORT
from bakeoff.cli.lines import run_session
from bakeoff.cli.opening import fail
from bakeoff.cli.optimize_lines import OptimizeLines
from bakeoff.cli.say import covered, print_json, say, table, tell
from bakeoff.engine.record import RunStatus
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.jobs.landing import Landed, Work, diff_of, land, shown_diff
from bakeoff.jobs.outcome import how_to_go_on
from bakeoff.jobs.session import RunOptions
from bakeoff.optimize.candidate_state import CandidateState
from bakeoff.optimize.markdown import markdown
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.session import dry_run
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
from bakeoff.optimize.view import JOB, RunView, run_view
from bakeoff.report.escape import one_line, visible
from bakeoff.report.words import counted, has_no_winner
from bakeoff.system.named_files import write_whole

TESTS = 5
"""That are named."""

WIDTH = 56
"""Columns of a line of code in the profile."""

HEADS = ["candidate", "verdict", "reason", "speed-up", "why"]


@dataclass(frozen=True, slots=True)
class Landing:
    """What is done with the winner: `apply` it, make a `branch` of it, write its diff to the file `patch`.

    A report goes to the file `markdown`, also where there is no winner.
    """

    apply: bool = False
    branch: str | None = None
    patch: Path | None = None
    markdown: Path | None = None

    def check(self) -> None:
        """See that files can be written there, before anything is done.

        Raises:
            BakeoffError: one cannot.
        """
        for option, path in (("--patch", self.patch), ("--markdown", self.markdown)):
            if path is None:
                continue
            if path.is_dir():
                raise BakeoffError(f"{option} {path}: it is a folder: name a file")
            if not path.parent.is_dir():
                raise BakeoffError(f"{option} {path}: there is no folder {path.parent}")
            if not os.access(path if path.exists() else path.parent, os.W_OK):
                raise BakeoffError(f"{option} {path}: it cannot be written")


def carry_out(
    session: Callable[[], Awaitable[tuple[RunFolder, Ending]]],
    run_options: RunOptions,
    store: RunStore,
    landing: Landing,
    *,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """Run a session under a display, print what came of it, land the winner, and leave with the exit status."""
    folder, ending = run_session(session, None if quiet else OptimizeLines(run_options.events))
    found = run_view(folder.history(), ending.status)
    landed, problem = _landed(store, folder.id, found, landing)
    if as_json:
        print_json(shown_run(folder, found, ending, landed), indent=2)
    say_all = say if as_json else _tell
    _print_ending(store, folder, found, ending, say_all, landed is not None)
    if landed is not None:
        say_all(landed.said)
    if landing.markdown is not None:
        text = covered("".join(markdown(folder.id, found, winners_diff(store.project, folder.id, found))))
        write_whole(landing.markdown, text.encode("utf-8", "replace"))
    if problem is not None:
        fail(problem)
    sys.exit(exit_status(found, ending))


def show_ranking(
    store: RunStore, options: OptimizeOptions, run_options: RunOptions, *, as_json: bool, quiet: bool
) -> NoReturn:
    """Print which functions a run for all would take, in which order, and leave."""
    display = None if quiet else OptimizeLines(run_options.events)
    ranked = run_session(lambda: dry_run(store, options, run_options), display)
    if as_json:
        shown = [one.to_json() | {"taken": number <= options.top} for number, one in enumerate(ranked, 1)]
        print_json({"target": options.target, "functions": shown}, indent=2)
        sys.exit(0)
    rows = [
        [f"{number} {one.target}", f"{1e3 * one.own:,.1f} ms", f"{one.calls:,}"] for number, one in enumerate(ranked, 1)
    ]
    for line in table(rows[: options.top], FUNCTION_HEADS[:3]):
        _tell(line)
    if len(rows) > options.top:
        _tell(f"and {len(rows) - options.top} more: see --top")
    sys.exit(0)


def exit_status(found: RunView, ending: Ending) -> int:
    """See `bakeoff optimize --help`."""
    if ending.status is RunStatus.COMPLETED:
        return 0 if found.winner is not None else NO_WINNER
    if ending.status is RunStatus.PAUSED and ending.signal is not None:
        return 128 + ending.signal
    return 4 if ending.status is RunStatus.BUDGET_SPENT else 1


def shown_run(folder: RunFolder, found: RunView, ending: Ending | None, landed: Landed | None = None) -> dict[str, Any]:
    """An optimisation as `--json` prints it."""
    shown: dict[str, Any] = {
        "run_id": folder.id,
        "job": JOB,
        "status": found.status,
        "target": found.options.target,
        "snapshot": found.snapshot,
        **found.to_json(),
        "usage": dict(found.usage),
        "landed": None if landed is None else landed.to_json(),
    }
    if ending is not None and ending.error is not None:
        shown["error"] = ending.error
    return shown


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


def _landed(store: RunStore, run: str, found: RunView, landing: Landing) -> tuple[Landed | None, BakeoffError | None]:
    if found.winner is None or not (landing.apply or landing.branch or landing.patch):
        return None, None
    try:
        work = work_of(run, found)
        if landing.patch is not None:
            _write(landing.patch, diff_of(store.project, work, False))
        if landing.apply or landing.branch:
            return land(store.project, work, landing.branch), None
    except BakeoffError as failure:
        return None, failure
    return None, None


def _write(path: Path, text: bytes) -> None:
    try:
        path.write_bytes(text)
    except OSError as failure:
        raise BakeoffError(f"--patch {path}: it cannot be written: {failure.strerror}") from failure


def _print_ending(
    store: RunStore, folder: RunFolder, found: RunView, ending: Ending, out: Callable[[str], None], landed: bool
) -> None:
    for line in (*table_lines(found), *explanation(found)):
        out(line)
    run = folder.id
    if found.usage:
        out(f"used: {cost(found)}")
    if found.chosen is not None:
        _print_winner(store, run, found, found.chosen, out, landed)
    elif found.options.every and found.winner is not None:
        cautious = [(one, cautions(one.view, chosen)) for one in found.functions if (chosen := one.view.chosen)]
        for one, said in cautious:
            for text in said:
                out(f"  ! {one.ranked.target}: {text}")
        out(f"run {run}: {found.winner} of {counted(len(found.functions), 'function')} faster")
        _print_diff(store, run, found, out, landed)
    if found.winner is not None and ending.status is not RunStatus.BUDGET_SPENT:
        return
    if ending.status is RunStatus.COMPLETED:
        if (missing := unverified(found)) is not None:
            out(f"! {missing}")
        if found.undecided:
            count = counted(len(found.undecided), "candidate")
            out(f"run {run}: nothing is decided: {count} behaved the same; whether any is faster did not show")
            out(f"  measure longer with: bakeoff resume {run} -i seconds={3 * found.options.seconds:g}")
        else:
            out(f"run {run}: nothing was found that behaves the same and is faster")
        return
    out(f"run {run} {ending.status.value.replace('_', ' ')}{f': {ending.error}' if ending.error else ''}")
    if (way := how_to_go_on(run, ending.status, JOB)) is not None:
        out(f"  go on with: {way}")


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


def _print_winner(
    store: RunStore, run: str, found: RunView, winner: CandidateState, out: Callable[[str], None], landed: bool
) -> None:
    out(f"run {run}: candidate {winner.number}, {winner.file}, wins: {speedup_of(winner)}")
    out(f"  {'shown by' if unverified(found) is None else 'seen of it:'} {support(found)}")
    names = tests_of(found)
    for name in names[:TESTS]:
        out(f"    {one_line(name)}")
    if len(names) > TESTS:
        out(f"    and {len(names) - TESTS} more")
    if winner.candidate.note:
        out(f"  {winner.candidate.note}")
    for text in cautions(found, winner):
        out(f"  ! {text}")
    for line in profile_lines(found):
        out(f"  {line}")
    _print_diff(store, run, found, out, landed)


def _print_diff(store: RunStore, run: str, found: RunView, out: Callable[[str], None], landed: bool) -> None:
    text = winners_diff(store.project, run, found) or ""
    if text.count("\n") <= SHORT:
        out(text.rstrip("\n"))
    else:
        out(f"  see it with: bakeoff diff {run}")
    if not landed:
        out(f"  take it with: bakeoff apply {run}")


def _tell(text: str) -> None:
    for line in text.split("\n"):
        tell(visible(line))
