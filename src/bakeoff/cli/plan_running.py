"""What the commands that carry out a plan share: a session under a display, what came of it, landing, exit status."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from bakeoff.cli.lines import run_session
from bakeoff.cli.merging import conflict_lines, culprit_lines
from bakeoff.cli.opening import fail
from bakeoff.cli.say import print_json, say, table, tell
from bakeoff.engine.errors import BakeoffError
from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.shown import shown_plan
from bakeoff.plan.run.standing import JOB, Standing, standing
from bakeoff.plan.schedule.writes import matches
from bakeoff.report.escape import one_line, visible
from bakeoff.report.words import amounts, counted, duration, how_to_go_on, known_amounts
from bakeoff.sampling.attempt.job import Conditions
from bakeoff.sampling.attempt.landing import Work, title_of

if TYPE_CHECKING:
    from bakeoff.sampling.attempt.landing import Landed

IN_PART = 3


@dataclass(frozen=True, slots=True)
class Landing:
    """What is done with the result: `apply` writes it into the files, `branch` makes a branch of it."""

    apply: bool = False
    branch: str | None = None


def carry_out(
    session: Callable[[], Awaitable[tuple[RunFolder, Ending]]],
    conditions: Conditions,
    store: RunStore,
    landing: Landing,
    *,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """Run a session under a display, print what came of it, land the result, and leave with the exit status."""
    from bakeoff.cli.plan_lines import PlanLines

    folder, ending = run_session(session, None if quiet else PlanLines(conditions.events))
    history = folder.history()
    found = standing(history, ending.status)
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


def exit_status(found: Standing, ending: Ending) -> int:
    """See `bakeoff plan goal --help`."""
    if ending.status is RunStatus.PAUSED and ending.signal is not None:
        return 128 + ending.signal
    if ending.status is RunStatus.BUDGET_SPENT:
        return 4
    if ending.status is not RunStatus.COMPLETED or found.findings is None or not found.findings.landed:
        return 1
    return 0 if found.whole else IN_PART


def _landed(store: RunStore, run: str, found: Standing, landing: Landing) -> tuple[Landed | None, BakeoffError | None]:
    if not found.facts() or not (landing.apply or landing.branch):
        return None, None
    from bakeoff.sampling.attempt.landing import land

    try:
        return land(store.project, work_of(run, found), landing.branch), None
    except BakeoffError as failure:
        return None, failure


def work_of(run: str, found: Standing, name: str | None = None, step: str | None = None) -> Work:
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


def result_lines(found: Standing) -> Iterator[str]:
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
            yield from conflict_lines(conflict, f"{later}{conflict.ref} conflicts with {conflict.other}")
        for culprit in findings.culprits:
            yield from culprit_lines(culprit)
        for ruled in findings.resolved:
            yield f"  {one_line(ruled.ref)}: {one_line(ruled.path)} was merged by the rule {ruled.rule}"
        for dropped in findings.dropped:
            yield from conflict_lines(dropped, f"{dropped.ref} landed without what it has against {dropped.other}")
    for name, state in found.states.items():
        if state.outside:
            yield f"  {name} wrote outside of what it may: {one_line(', '.join(state.outside), 300)}"
        if state.tests_changed:
            yield f"  {name} changed tests, which is left out: {one_line(', '.join(state.tests_changed), 300)}"
        for said in state.left_out:
            yield f"  left out of what {name} made: {one_line(said, 300)}"
    yield from _overlap_lines(found.plan, found.findings.overlaps)


def _overlap_lines(plan: Plan, overlaps: Sequence[tuple[str, str, list[str]]]) -> Iterator[str]:
    declared = {subplan.name: subplan.declared for subplan in plan.subplans}
    told: set[tuple[str, str, str]] = set()
    for name, other, paths in overlaps:
        theirs = [path for path in paths if matches(declared[other], path)]
        if theirs:
            yield f"  {name} wrote what {other} may write: {one_line(', '.join(theirs), 300)}"
        # Two that both wrote outside of what they may are told of once.
        both = [path for path in paths if path not in theirs and (other, name, path) not in told]
        told.update((name, other, path) for path in both)
        if both:
            yield f"  {name} wrote what {other} wrote, too: {one_line(', '.join(both), 300)}"


def _rows(found: Standing) -> Iterator[list[str]]:
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


def _ending_lines(run: str, found: Standing, ending: Ending, landing: Landing, history: History) -> Iterator[str]:
    findings = found.findings
    for text in ending.facts.get("salvaged") or ():
        yield f"unfinished work is kept as {text}"
    paid = {kind: amount for kind, amount in history.usage.items() if kind in ("usd", "tokens", "calls")}
    if total := amounts(paid, history.unreported):
        yield f"used: {total}"
    if found.speedup is not None and len(found.worked) > 1:
        one, all_ = duration(found.one_by_one), duration(found.elapsed)
        yield f"work took {all_}; one by one it would have been {one}: {found.speedup:.1f} times faster"
    if findings is not None:
        runs = sum(one.runs for one in findings.rounds)
        of = f"{len(findings.landed)} of {len(findings.wanted)}"
        yield f"run {run}: {of} landed, {counted(runs, 'run')} of the checks on what was merged"
    if ending.status is not RunStatus.COMPLETED:
        yield f"run {run} {ending.status.value.replace('_', ' ')}{f': {ending.error}' if ending.error else ''}"
        if (way := how_to_go_on(run, ending.status, JOB)) is not None:
            yield f"  go on with: {way}"
    if findings is not None and findings.landed and not (landing.apply or landing.branch):
        yield f"  see it with: bakeoff diff {run}"
        yield f"  take it with: bakeoff apply {run}"


def _tell(text: str) -> None:
    for line in text.split("\n"):
        tell(visible(line))
