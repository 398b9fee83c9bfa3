"""Table of a plan, why something did not land, and what is printed when a session is over."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bakeoff.engine.record import RunStatus
from bakeoff.jobs.job import OpenRun
from bakeoff.jobs.landing_options import LandingOptions
from bakeoff.jobs.outcome import stopped_lines
from bakeoff.plan.queue.table import conflict_lines, culprit_lines, dropped_title, unclear_lines
from bakeoff.plan.run.findings import Overlap
from bakeoff.plan.run.view import JOB_NAME, RunView
from bakeoff.report.escape import one_line
from bakeoff.report.text_table import table
from bakeoff.report.words import amounts, counted, duration, known_amounts


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
            yield f"  {one_line(ruled.ref)}: {one_line(ruled.path)} was merged by the rule {ruled.rule} ({ruled.why})"
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


def ending_lines(run: OpenRun, found: RunView, landing: LandingOptions) -> Iterator[str]:
    """Lines that are printed when a session is over."""
    name, history, ending, findings = run.folder.id, run.history, run.ended, found.findings
    assert ending is not None
    yield from result_lines(found)
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
        yield f"run {name}: {len(findings.landed)} of {len(findings.wanted)} landed, {tested}"
    if ending.status is not RunStatus.COMPLETED:
        yield from stopped_lines(name, ending, JOB_NAME)
    if findings is not None and findings.landed and not landing.takes:
        yield f"  see it with: bakeoff diff {name}"
        yield f"  take it with: bakeoff apply {name}"
