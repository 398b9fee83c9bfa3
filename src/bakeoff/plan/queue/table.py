"""Table of a merge, what conflicts and who breaks what, and what is printed when a session is over."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.jobs.job import OpenRun
from bakeoff.jobs.landing_options import LandingOptions
from bakeoff.jobs.outcome import stopped_lines
from bakeoff.plan.queue.findings import Conflict, Culprit, Findings
from bakeoff.plan.queue.lines import name_of
from bakeoff.plan.queue.verification import UNRUNNABLE
from bakeoff.plan.queue.view import JOB_NAME, RunView
from bakeoff.report.escape import one_line
from bakeoff.report.text_table import table
from bakeoff.report.words import short_ids

REASON_LINES = 8
"""Lines of a failed check's output that are repeated."""


MOST_HUNKS = 5
"""Places of one conflict that are shown."""


def result_lines(found: RunView) -> Iterator[str]:
    """A table of what was to be merged, then why something was not."""
    findings = found.findings
    if findings is None:
        yield from _progress(found)
        return
    yield from table(
        [[one_line(short_ids(cell), 80) for cell in row] for row in _rows(found, findings)], ["ref", "standing", "why"]
    )
    for conflict in findings.conflicts:
        yield from conflict_lines(conflict, f"{conflict.ref} {conflict.said}")
    for conflict in findings.dropped:
        yield from conflict_lines(conflict, dropped_title(conflict))
    for culprit in findings.culprits:
        yield from culprit_lines(culprit)
    yield from unclear_lines(findings)
    for ruled in findings.resolved:
        ref, path = one_line(short_ids(ruled.ref)), one_line(ruled.path)
        yield f"  {ref}: {path} was merged by the rule {ruled.rule} ({ruled.why})"
    for names in findings.flaky:
        yield f"  failed once and passed when tested again: {one_line(short_ids(', '.join(names)), 300)}"


def _rows(found: RunView, findings: Findings) -> Iterator[list[str]]:
    conflicts: dict[str, list[str]] = {}
    for conflict in findings.conflicts:
        conflicts.setdefault(conflict.ref, []).append(conflict.brief)
    culprits = {culprit.ref: culprit for culprit in findings.culprits}
    before = {one.ref: one for one in findings.preexisting}
    for ref in found.options.refs:
        if ref in findings.landed:
            excused = f"fails on the base too: {', '.join(before[ref].tests)}" if ref in before else ""
            yield [ref, "landed", excused]
        elif ref in culprits:
            yield [ref, "culprit", _breaks(culprits[ref])]
        elif ref in conflicts:
            yield [ref, "conflict", "; ".join(conflicts[ref])]
        elif ref in before:
            tests, (why, *_) = ", ".join(before[ref].tests), [*before[ref].reason.splitlines(), ""]
            unrunnable = why.startswith(UNRUNNABLE)
            yield [ref, "unclear", f"{tests}: {why}" if unrunnable else f"fails on the base too: {tests}"]
        else:
            yield [ref, "-", ""]


def _breaks(culprit: Culprit) -> str:
    if culprit.other is None:
        return f"fails {culprit.test}"
    sure = "" if culprit.confirmed else " and others"
    return f"with {culprit.other}{sure}: fails {culprit.test}"


def dropped_title(conflict: Conflict) -> str:
    """Title of a conflict in which one side was left out."""
    return f"{conflict.ref} landed without what it has against {conflict.other} in {conflict.path}"


def conflict_lines(conflict: Conflict, title: str) -> Iterator[str]:
    """Lines on a conflict: what is the matter, and what each has there."""
    yield f"  {one_line(short_ids(title), 400)} ({conflict.kind})"
    for hunk in conflict.hunks[:MOST_HUNKS]:
        yield f"    line {hunk.line}"
        for name, text in ((conflict.other, hunk.ours), (conflict.ref, hunk.theirs)):
            yield f"      {one_line(short_ids(name), 80)}: {one_line(text, 200) if text else '(nothing)'}"
    if len(conflict.hunks) > MOST_HUNKS:
        yield f"    and {len(conflict.hunks) - MOST_HUNKS} more places"


def culprit_lines(culprit: Culprit) -> Iterator[str]:
    """Lines on a culprit: what it breaks, and what the check said."""
    yield f"  {one_line(short_ids(culprit.ref), 80)} {one_line(short_ids(_breaks(culprit)), 300)}"
    yield from _reason_lines(culprit.reason)


def unclear_lines(findings: Findings) -> Iterator[str]:
    """Lines on a check that fails on the base too: what it said there, for all that did not land because of it."""
    refs: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for one in findings.preexisting:
        if not one.landed:
            refs.setdefault((one.tests, one.reason), []).append(one.ref)
    for (tests, reason), names in refs.items():
        what = f"fails on the base too and names no tests, so that nobody is blamed and {', '.join(names)} did not land"
        yield f"  {one_line(', '.join(tests), 200)} {one_line(short_ids(what), 300)}"
        yield from _reason_lines(reason)


def _reason_lines(reason: str) -> Iterator[str]:
    said = reason.rstrip().splitlines()
    yield from (f"    {one_line(line, 300)}" for line in said[:1] + said[1:][-REASON_LINES:])


def _progress(found: RunView) -> Iterator[str]:
    """Progress of a merge that has not ended, as far as it is known."""
    for ran in found.ran:
        yield f"  {name_of(ran, found.options.refs)}: {'not run' if ran.verdict is None else ran.verdict.verdict}"


def ending_lines(run: OpenRun, found: RunView, landing: LandingOptions) -> Iterator[str]:
    """Lines that are printed when a session is over."""
    name, findings = run.folder.id, found.findings
    assert run.ended is not None
    yield from result_lines(found)
    if findings is None:
        yield from stopped_lines(name, run.ended, JOB_NAME)
        return
    of = f"{len(findings.landed)} of {len(found.options.refs)}"
    yield f"run {name}: {of} landed, {short_ids(findings.tested)}"
    if findings.landed and not landing.takes:
        yield f"  see it with: bakeoff diff {name}"
        yield f"  take it with: bakeoff apply {name}"
