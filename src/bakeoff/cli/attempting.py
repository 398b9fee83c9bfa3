"""What `attempt`, `compare` and `resume` share: a session under a display, its table, landing, and its exit status."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from bakeoff.cli.attempt_table import explanation, notes, table_lines
from bakeoff.cli.lines import run_session
from bakeoff.cli.opening import fail
from bakeoff.cli.say import print_json, say, tell
from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.jobs.outcome import how_to_go_on
from bakeoff.jobs.session import RunOptions
from bakeoff.report.escape import visible
from bakeoff.report.words import amounts
from bakeoff.sampling.attempt.view import JOB, AttemptView, RunView, run_view

if TYPE_CHECKING:
    from bakeoff.jobs.landing import Landed

SHORT = 60
"""Lines of a diff, and of the list of its files, that are printed unasked."""

NO_WINNER = 3


@dataclass(frozen=True, slots=True)
class Landing:
    """What is done with the winner: `apply` it, make a `branch` of it, only show it (`diff`: however long it is)."""

    apply: bool = False
    branch: str | None = None
    with_tests: bool = False
    diff: bool = False


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
    from bakeoff.cli.attempt_lines import AttemptLines

    folder, ending = run_session(session, None if quiet else AttemptLines(run_options.events))
    history = folder.history()
    found = run_view(history, ending.status)
    landed, problem = _landed(store, folder.id, found, landing)
    if as_json:
        print_json(shown_run(folder, found, ending, history.usage, landed), indent=2)
    say_all = say if as_json else _tell
    _print_ending(store, folder, found, ending, landing, history, say_all)
    if landed is not None:
        say_all(landed.said)
    if problem is not None:
        fail(problem)
    sys.exit(exit_status(found, ending))


def exit_status(found: RunView, ending: Ending) -> int:
    """See `bakeoff attempt --help`."""
    if ending.status is RunStatus.COMPLETED:
        return 0 if found.winner is not None else NO_WINNER
    if ending.status is RunStatus.PAUSED and ending.signal is not None:
        return 128 + ending.signal
    return 4 if ending.status is RunStatus.BUDGET_SPENT else 1


def _landed(store: RunStore, run: str, found: RunView, landing: Landing) -> tuple[Landed | None, BakeoffError | None]:
    if found.chosen is None or not (landing.apply or landing.branch):
        return None, None
    from bakeoff.jobs.landing import land
    from bakeoff.sampling.attempt.landing import work_of

    try:
        work = work_of(run, found, found.chosen)
        return land(store.project, work, landing.branch, landing.with_tests), None
    except BakeoffError as failure:
        return None, failure


def shown_run(
    folder: RunFolder, found: RunView, ending: Ending | None, usage: Any, landed: Landed | None = None
) -> dict[str, Any]:
    """A run of attempts as `--json` prints it."""
    error = None if ending is None else ending.error
    return {
        "run_id": folder.id,
        "job": JOB,
        "status": found.status.value,
        "error": error,
        "reason": found.reason,
        "winner": found.winner,
        "closest": found.closest,
        "snapshot": found.snapshot,
        "usage": {kind: round(amount, 9) for kind, amount in usage.items() if amount},
        "attempts": [view.to_json(found.names, found.options.bench is not None) for view in found.attempts.values()],
        "landed": None if landed is None else landed.to_json(),
    }


def _print_ending(
    store: RunStore,
    folder: RunFolder,
    found: RunView,
    ending: Ending,
    landing: Landing,
    history: History,
    out: Callable[[str], None],
) -> None:
    for line in (*table_lines(found), *notes(found)):
        out(line)
    usage = history.usage
    paid = {kind: amount for kind, amount in usage.items() if kind in ("usd", "tokens", "calls")}
    total = amounts(paid, history.unreported)
    if total and not found.options.refs:
        over = {kind: most for kind, most in found.options.ceilings.items() if usage.get(kind, 0) > most * (1 + 1e-9)}
        out(f"used: {total}{f'; more than the {amounts(over)} allowed' if over else ''}")
    for kind in sorted(history.unreported & found.options.ceilings.keys()):
        out(f"  {kind} were not reported, so that all of the ceiling on them counts as used")
    for text in ending.facts.get("salvaged") or ():
        out(f"unfinished work is kept as {text}")
    if found.chosen is not None:
        _print_winner(store, folder.id, found, found.chosen, landing, out)
    elif ending.status is RunStatus.COMPLETED:
        out(f"run {folder.id}: nothing passed")
        for line in explanation(found):
            out(line)
    else:
        out(f"run {folder.id} {ending.status.value.replace('_', ' ')}{f': {ending.error}' if ending.error else ''}")
        for line in explanation(found):
            out(line)
        way = how_to_go_on(folder.id, ending.status, JOB)
        if way is not None and not ending.facts.get("refused"):
            out(f"  go on with: {way}")


def _print_winner(
    store: RunStore, run: str, found: RunView, winner: AttemptView, landing: Landing, out: Callable[[str], None]
) -> None:
    from bakeoff.jobs.landing import shown_diff, stat_of
    from bakeoff.sampling.attempt.landing import work_of

    work = work_of(run, found, winner)
    changed = winner.facts.get("tests_changed")
    marked = " (tests changed)" if changed else ""
    out(f"run {run}: attempt {winner.id} wins{marked}")
    if changed:
        out(f"  it changed {', '.join(changed)}; judged without that, and landed without it but for --with-tests")
    files = stat_of(store.project, work, landing.with_tests)
    for line in files[:SHORT]:
        out(f"  {line}")
    if len(files) > SHORT:
        out(f"  and {len(files) - SHORT} more files")
    text = shown_diff(store.project, work, landing.with_tests)
    if landing.diff or text.count("\n") <= SHORT:
        out(text.rstrip("\n"))
    else:
        out(f"  see it with: bakeoff diff {run}")
    if not landing.apply and landing.branch is None:
        out(f"  take it with: bakeoff apply {run}")


def _tell(text: str) -> None:
    for line in text.split("\n"):
        tell(visible(line))
