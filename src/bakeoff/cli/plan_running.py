"""What the commands that carry out a plan share: a session under a display, what came of it, landing, exit status."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from bakeoff.cli.lines import run_session
from bakeoff.cli.merging import conflict_lines, culprit_lines, dropped_title, unclear_lines
from bakeoff.cli.opening import fail
from bakeoff.cli.say import print_json, say, table, tell
from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.jobs.landing import Work, title_of
from bakeoff.jobs.outcome import how_to_go_on
from bakeoff.jobs.session import RunOptions
from bakeoff.plan.run.findings import Overlap
from bakeoff.plan.run.plan_json import shown_plan
from bakeoff.plan.run.view import JOB, RunView, run_view
from bakeoff.report.escape import one_line, visible
from bakeoff.report.words import amounts, counted, duration, known_amounts

if TYPE_CHECKING:
    from bakeoff.jobs.landing import Landed

IN_PART = 3


@dataclass(frozen=True, slots=True)
class Landing:
    """What is done with the result: `apply` writes it into the files, `branch` makes a branch of it."""

    apply: bool = False
    branch: str | None = None


def carry_out(
    session: Callable[[], Awaitable[tuple[RunFolder, Ending]]],
    run_options: RunOptions,
    store: RunStore,
    landing: Landing,
    *,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """Run a session under a display, print what came of it, land the result, and leave with the exit status."""
    from bakeoff.cli.plan_lines import PlanLines

    folder, ending = run_session(session, None if quiet else PlanLines(run_options.events))
    history = folder.history()
    found = run_view(history, ending.status)
    landed, problem = _landed(store, folder.id, found, landing)
    if as_json:
        print_json(shown_plan(folder.id, found, ending.error, history.usage, landed), indent=2)
    say_all = say if as_json else _tell
    for line in (*result_lines(found), *_ending_lines(folder.id, found, ending, landing, history)):
        say_all(line)
    if landed is not None:
        say_all(landed.said)
    if problem is not None:
        fail(problem)
    sys.exit(exit_status(found, ending))


def exit_status(found: RunView, ending: Ending) -> int:
    """See `bakeoff plan goal --help`."""
    if ending.status is RunStatus.PAUSED and ending.signal is not None:
        return 128 + ending.signal
    if ending.status is RunStatus.BUDGET_SPENT:
        return 4
    if ending.status is not RunStatus.COMPLETED or found.findings is None or not found.findings.landed:
        return 1
    return 0 if found.whole else IN_PART


def _landed(store: RunStore, run: str, found: RunView, landing: Landing) -> tuple[Landed | None, BakeoffError | None]:
    if not found.facts() or not (landing.apply or landing.branch):
        return None, None
    from bakeoff.jobs.landing import land

    try:
        return land(store.project, work_of(run, found), landing.branch), None
    except BakeoffError as failure:
        return None, failure


def work_of(run: str, found: RunView, name: str | None = None, step: str | None = None) -> Work:
    """The result of a plan, or what one of its subplans made, to be shown and landed.

    Args:
        run: the run's id.
        found: how the plan stands.
        name: the subplan; None for the result.
        step: the workflow's step that the plan is, where it is one.

    Passes on PlanError: there is no such subplan.

    Raises:
        BakeoffError: nothing landed, or it made nothing.
    """
    if name is not None:
        found.plan.find(name)
    facts = found.facts(name)
    if not facts:
        what = "nothing of it landed" if name is None else f"its subplan {name} made nothing"
        whose = f"run {run}" if step is None else f"step {step} of run {run}"
        raise BakeoffError(f"{whose} has nothing that could be shown or taken: {what}")
    state = None if name is None else found.states[name]
    status = "passed" if state is None or state.landed else state.kind or state.status.value
    path = name if step is None else f"{step}/{name}"
    return Work(run, status, facts, title_of(found.plan.goal), None, path, noun="subplan")


def result_lines(found: RunView) -> Iterator[str]:
    """A table of the subplans, then why something did not land."""
    if found.split is not None:
        yield f"split by {one_line(found.split['name'])}: {known_amounts(found.split)}"
    if not found.plan.subplans:
        yield f"{one_line(found.splitter or 'nobody')} has not split it yet"
        return
    rows = [[one_line(cell, 90) for cell in row] for row in _rows(found)]
    yield from table(rows, ["subplan", "standing", "time", "used", "why"])
    if found.findings is None:
        return
    for number, findings in enumerate(found.findings.rounds, 1):
        later = f"round {number}: " if len(found.findings.rounds) > 1 else ""
        for conflict in findings.conflicts:
            yield from conflict_lines(conflict, f"{later}{conflict.ref} {conflict.said}")
        for culprit in findings.culprits:
            yield from culprit_lines(culprit)
        yield from unclear_lines(findings)
        for ruled in findings.resolved:
            yield f"  {one_line(ruled.ref)}: {one_line(ruled.path)} was merged by the rule {ruled.rule}"
        for dropped in findings.dropped:
            yield from conflict_lines(dropped, dropped_title(dropped))
    strays = {name: state.outside for name, state in found.states.items() if state.outside}
    yield from _stray_lines(strays, found.findings.overlaps)
    for name, state in found.states.items():
        if state.tests_changed:
            yield f"  {name} changed tests, which is left out: {one_line(', '.join(state.tests_changed), 300)}"
        for said in state.left_out:
            yield f"  left out of what {name} made: {one_line(said, 300)}"


MOST_STRAYS = 3
"""Subplans, and paths, that are named of those that strayed."""


def _stray_lines(strays: Mapping[str, Sequence[str]], overlaps: Sequence[Overlap]) -> Iterator[str]:
    """One line on who wrote outside of what it may, and one on where others wrote or may write, too."""
    if strays:
        files = counted(len({path for paths in strays.values() for path in paths}), "file")
        named = _some(f"{name} ({_some(paths, len(paths))})" for name, paths in list(strays.items())[:MOST_STRAYS])
        rest = len(strays) - MOST_STRAYS
        more = f", and {counted(rest, 'other')}: `show --json` lists all" if rest > 0 else ""
        yield f"  {counted(len(strays), 'subplan')} wrote {files} outside of what they may: {named}{more}"
    if overlaps:
        count = sum(len(one.paths) for one in overlaps)
        named = _some((_met(one) for one in overlaps), len(overlaps))
        yield f"  {counted(count, 'file')} of these others wrote or may write, too: {named}"


def _met(one: Overlap) -> str:
    may = f"; {_some(one.may, len(one.may))} may" if one.may else ""
    return f"{_some(one.paths, len(one.paths))} (by {_some(one.wrote, len(one.wrote))}{may})"


def _some(texts: Iterable[str], count: int = 0) -> str:
    """The first of them, on one line."""
    shown = ", ".join(one_line(text, 200) for text in itertools.islice(texts, MOST_STRAYS))
    return f"{shown} and {count - MOST_STRAYS:,} more" if count > MOST_STRAYS else shown


def _rows(found: RunView) -> Iterator[list[str]]:
    groups = {group.name: group for group in found.plan.groups}
    for subplan in found.plan.subplans:
        state, worked = found.states[subplan.name], found.worked.get(subplan.name)
        depth, above = 0, subplan.parent
        while above is not None:
            depth, above = depth + 1, groups[above].parent
        used = "" if worked is None else amounts(
            {kind: amount for kind, amount in worked.usage.items() if kind in ("usd", "tokens")}
            | {"calls": worked.calls}
        )  # fmt: skip
        time = "" if worked is None else duration(worked.seconds)
        again = f" (round {state.round})" if state.round > 1 else ""
        stands = "landed" if state.landed else state.status.value
        if not state.landed and state.commit is not None and found.findings is not None and state.kind:
            stands = state.kind
        yield [subplan.name, stands, time, used, f"{state.why}{again}"]


def _ending_lines(run: str, found: RunView, ending: Ending, landing: Landing, history: History) -> Iterator[str]:
    findings = found.findings
    for text in ending.facts.get("salvaged") or ():
        yield f"unfinished work is kept as {text}"
    paid = {kind: amount for kind, amount in history.usage.items() if kind in ("usd", "tokens", "calls")}
    if total := amounts(paid, history.unreported):
        yield f"used: {total}"
    if found.at_once is not None and len(found.worked) > 1:
        yield f"work took {duration(found.elapsed)}; {found.at_once:.1f} subplans were at work at once on average"
    if findings is not None:
        runs = sum(one.runs for one in findings.rounds)
        tested = findings.rounds[-1].tested if findings.rounds else ""
        if runs or not tested:
            tested = f"{counted(runs, 'run')} of the checks on what was merged"
        yield f"run {run}: {len(findings.landed)} of {len(findings.wanted)} landed, {tested}"
    if ending.status is not RunStatus.COMPLETED:
        yield f"run {run} {ending.status.value.replace('_', ' ')}{f': {ending.error}' if ending.error else ''}"
        way = how_to_go_on(run, ending.status, JOB)
        if way is not None and not ending.facts.get("refused"):
            yield f"  go on with: {way}"
    if findings is not None and findings.landed and not (landing.apply or landing.branch):
        yield f"  see it with: bakeoff diff {run}"
        yield f"  take it with: bakeoff apply {run}"


def _tell(text: str) -> None:
    for line in text.split("\n"):
        tell(visible(line))
