"""What `optimize` and `resume` share: a session under a display, its table, landing, and its exit status."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from bakeoff.cli.attempting import NO_WINNER, SHORT
from bakeoff.cli.opening import fail
from bakeoff.cli.optimize_lines import OptimizeLines
from bakeoff.cli.say import print_json, say, table, tell
from bakeoff.engine.errors import BakeoffError, the_failure
from bakeoff.engine.record import RunStatus
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.optimize.entrant import Entrant
from bakeoff.optimize.standing import JOB, Standing, standing
from bakeoff.report.escape import one_line, visible
from bakeoff.report.words import amounts, counted, how_to_go_on
from bakeoff.sampling.attempt.job import Conditions
from bakeoff.sampling.attempt.landing import Landed, Work, diff_of, land

HEADS = ["candidate", "verdict", "reason", "speed-up", "why"]


@dataclass(frozen=True, slots=True)
class Landing:
    """What is done with the winner: `apply` it, make a `branch` of it, write its diff to the file `patch`."""

    apply: bool = False
    branch: str | None = None
    patch: Path | None = None


def carry_out(
    session: Callable[[], Awaitable[tuple[RunFolder, Ending]]],
    conditions: Conditions,
    store: RunStore,
    landing: Landing,
    *,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """Run a session under a display, print what came of it, land the winner, and leave with the exit status."""
    import anyio

    if not quiet:
        OptimizeLines(conditions.events)
    try:
        folder, ending = anyio.run(session)
    except Exception as raised:
        failure = the_failure(raised)
        if failure is None:
            raise
        fail(failure)
    found = standing(folder.history(), ending.status)
    landed, problem = _landed(store, folder.id, found, landing)
    if as_json:
        print_json(shown_run(folder, found, ending, landed), indent=2)
    say_all = say if as_json else _tell
    _print_ending(store, folder, found, ending, say_all)
    if landed is not None:
        say_all(landed.said)
    if problem is not None:
        fail(problem)
    sys.exit(exit_status(found, ending))


def exit_status(found: Standing, ending: Ending) -> int:
    """See `bakeoff optimize --help`."""
    if ending.status is RunStatus.COMPLETED:
        return 0 if found.winner is not None else NO_WINNER
    if ending.status is RunStatus.PAUSED and ending.signal is not None:
        return 128 + ending.signal
    return 4 if ending.status is RunStatus.BUDGET_SPENT else 1


def shown_run(
    folder: RunFolder, found: Standing, ending: Ending | None, landed: Landed | None = None
) -> dict[str, Any]:
    """An optimisation as `--json` prints it."""
    shown: dict[str, Any] = {
        "run_id": folder.id,
        "job": JOB,
        "status": found.status,
        "target": found.options.target,
        "snapshot": found.snapshot,
        **found.to_json(),
        "landed": None if landed is None else landed.to_json(),
    }
    if ending is not None and ending.error is not None:
        shown["error"] = ending.error
    return shown


def table_lines(found: Standing) -> list[str]:
    """A line for each candidate."""
    rows = [_row(found, entrant) for entrant in found.entrants.values()]
    return table(rows, HEADS) if rows else []


def _row(found: Standing, entrant: Entrant) -> list[str]:
    name = f"{entrant.number} {entrant.file}{' *' if entrant.number == found.winner else ''}"
    cells = [name, entrant.verdict or "-", entrant.reason or "-", speedup_of(entrant), entrant.detail or "-"]
    return [one_line(cell, 80) for cell in cells]


def speedup_of(entrant: Entrant) -> str:
    """Its speed-up with the interval; a dash where none was measured."""
    speed = None if entrant.speed is None else entrant.speed.speedup
    if speed is None:
        return "-"
    high = "" if speed.high is None else f"{speed.high:.2f}"
    return f"{speed.estimate:.2f}x [{speed.low:.2f}, {high}]"


def work_of(run: str, found: Standing) -> Work:
    """The winner, to be shown and landed.

    Raises:
        BakeoffError: there is none.
    """
    if found.chosen is None or found.result is None:
        raise BakeoffError(f"run {run} has no winner")
    return Work(run, "passed", found.result, f"Make {found.options.target} faster", found.chosen.number)


def _landed(store: RunStore, run: str, found: Standing, landing: Landing) -> tuple[Landed | None, BakeoffError | None]:
    if found.chosen is None or not (landing.apply or landing.branch or landing.patch):
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
    store: RunStore, folder: RunFolder, found: Standing, ending: Ending, out: Callable[[str], None]
) -> None:
    for line in table_lines(found):
        out(line)
    run = folder.id
    if used := amounts({kind: amount for kind, amount in found.cost.items() if kind in ("usd", "tokens", "calls")}):
        out(f"used: {used}")
    if found.chosen is not None:
        _print_winner(store, run, found, found.chosen, out)
        if ending.status is not RunStatus.BUDGET_SPENT:
            return
    if ending.status is RunStatus.COMPLETED:
        out(f"run {run}: nothing was found that behaves the same and is faster")
        return
    out(f"run {run} {ending.status.value.replace('_', ' ')}{f': {ending.error}' if ending.error else ''}")
    if (way := how_to_go_on(run, ending.status, JOB)) is not None:
        out(f"  go on with: {way}")


def _print_winner(store: RunStore, run: str, found: Standing, winner: Entrant, out: Callable[[str], None]) -> None:
    out(f"run {run}: candidate {winner.number}, {winner.file}, wins: {speedup_of(winner)}")
    base = found.baseline or {}
    tests, calls = counted(int(base.get("tests", 0)), "test"), counted(int(base.get("calls", 0)), "call")
    out(f"  shown by {tests}, {calls} in them, {base.get('recorded', 0)} repeated and {base.get('derived', 0)} derived")
    if winner.candidate.note:
        out(f"  {winner.candidate.note}")
    if winner.candidate.assumes:
        out(f"  it relies on: {', '.join(winner.candidate.assumes)}; that is shown by these tests alone")
    text = diff_of(store.project, work_of(run, found), False).decode("utf-8", "replace")
    if text.count("\n") <= SHORT:
        out(text.rstrip("\n"))
    else:
        out(f"  see it with: bakeoff diff {run}")
    out(f"  take it with: bakeoff apply {run}")


def _tell(text: str) -> None:
    for line in text.split("\n"):
        tell(visible(line))
