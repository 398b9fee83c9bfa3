"""What `merge`, `resume` and `apply` share: a session under a display, what came of it, landing, its exit status."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from bakeoff.cli.lines import run_session
from bakeoff.cli.merge_lines import MergeLines, name_of
from bakeoff.cli.opening import fail
from bakeoff.cli.say import print_json, say, table, tell
from bakeoff.engine.record import RunStatus
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.jobs.landing import Work
from bakeoff.jobs.outcome import how_to_go_on
from bakeoff.jobs.session import RunOptions
from bakeoff.plan.merge.landing import Moved, move_branch, move_checkout
from bakeoff.plan.queue.findings import Conflict, Culprit, Findings
from bakeoff.plan.queue.verification import UNRUNNABLE
from bakeoff.plan.queue.view import JOB, RunView, run_view
from bakeoff.report.escape import one_line, visible
from bakeoff.report.words import short_ids

IN_PART = 3

REASON_LINES = 8
"""Lines of a failed check's output that are repeated."""


MOST_HUNKS = 5
"""Places of one conflict that are shown."""


@dataclass(frozen=True, slots=True)
class Landing:
    """What is done with the tip: `apply` moves the branch that is checked out, `branch` another."""

    apply: bool = False
    branch: str | None = None


def carry_out(
    session: Callable[[], Awaitable[tuple[RunFolder, Ending]]],
    run_options: RunOptions,
    store: RunStore,
    landing: Landing,
    *,
    refs: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """Run a session under a display, print what came of it, land the tip, and leave with the exit status."""
    folder, ending = run_session(session, None if quiet else MergeLines(run_options.events, refs))
    found = run_view(folder.history(), ending.status)
    moved, problem = _moved(store, folder.id, found, landing)
    if as_json:
        print_json(shown_run(folder, found, ending, moved), indent=2)
    say_all = say if as_json else _tell
    for line in (*result_lines(found), *_ending_lines(folder.id, found, ending, landing)):
        say_all(line)
    if moved is not None:
        say_all(moved.said)
    if problem is not None:
        fail(problem)
    sys.exit(exit_status(found, ending))


def exit_status(found: RunView, ending: Ending) -> int:
    """See `bakeoff merge --help`."""
    if ending.status is RunStatus.PAUSED and ending.signal is not None:
        return 128 + ending.signal
    if ending.status is not RunStatus.COMPLETED or found.findings is None or not found.findings.landed:
        return 1
    return 0 if found.whole else IN_PART


def _moved(store: RunStore, run: str, found: RunView, landing: Landing) -> tuple[Moved | None, BakeoffError | None]:
    if not found.facts() or not (landing.apply or landing.branch):
        return None, None
    try:
        return move(store, run, found, landing.branch), None
    except BakeoffError as failure:
        return None, failure


def move(store: RunStore, run: str, found: RunView, branch: str | None) -> Moved:
    """Land the tip of a merge: on the branch of that name, or the one that is checked out.

    Passes on ApplyError: it does not fit.

    Raises:
        BakeoffError: nothing was merged.
    """
    facts = found.facts()
    if not facts:
        raise BakeoffError(f"run {run} merged nothing that could be landed")
    tip = str(facts["commit"])
    return move_checkout(store.project, run, tip) if branch is None else move_branch(store.project, run, tip, branch)


def work_of(run: str, found: RunView) -> Work:
    """All that landed, to be shown.

    Raises:
        BakeoffError: nothing did.
    """
    facts = found.facts()
    if not facts:
        raise BakeoffError(f"run {run} merged nothing that could be shown")
    return Work(run, "passed", facts, f"Merge {', '.join(found.options.refs)}"[:72])


def shown_run(folder: RunFolder, found: RunView, ending: Ending | None, moved: Moved | None = None) -> dict[str, Any]:
    """A merge as `--json` prints it."""
    findings = found.findings or Findings("", "")
    if found.findings is None and found.brought is not None:
        findings.base = findings.tip = found.brought.snapshot.commit
    return {
        "run_id": folder.id,
        "job": JOB,
        "status": found.status.value,
        "error": None if ending is None else ending.error,
        **findings.to_json(),
        "moved": None if moved is None else moved.to_json(),
    }


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
        yield f"  {one_line(short_ids(ruled.ref))}: {one_line(ruled.path)} was merged by the rule {ruled.rule}"
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
    """What is said of a conflict in which one side was left out."""
    return f"{conflict.ref} landed without what it has against {conflict.other} in {conflict.path}"


def conflict_lines(conflict: Conflict, title: str) -> Iterator[str]:
    """What is the matter, and what each has there."""
    yield f"  {one_line(short_ids(title), 400)} ({conflict.kind})"
    for hunk in conflict.hunks[:MOST_HUNKS]:
        yield f"    line {hunk.line}"
        for name, text in ((conflict.other, hunk.ours), (conflict.ref, hunk.theirs)):
            yield f"      {one_line(short_ids(name), 80)}: {one_line(text, 200) if text else '(nothing)'}"
    if len(conflict.hunks) > MOST_HUNKS:
        yield f"    and {len(conflict.hunks) - MOST_HUNKS} more places"


def culprit_lines(culprit: Culprit) -> Iterator[str]:
    """What it breaks, and what the check said."""
    yield f"  {one_line(short_ids(culprit.ref), 80)} {one_line(short_ids(_breaks(culprit)), 300)}"
    yield from _reason_lines(culprit.reason)


def unclear_lines(findings: Findings) -> Iterator[str]:
    """What a check said of the base that fails there too, for all that did not land because of it."""
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
    """What is known of a merge that has not ended."""
    for ran in found.ran:
        yield f"  {name_of(ran, found.options.refs)}: {'not run' if ran.verdict is None else ran.verdict.verdict}"


def _ending_lines(run: str, found: RunView, ending: Ending, landing: Landing) -> Iterator[str]:
    findings = found.findings
    if findings is None:
        said = f": {ending.error}" if ending.error else ""
        yield f"run {run} {ending.status.value.replace('_', ' ')}{said}"
        way = how_to_go_on(run, ending.status, JOB)
        if way is not None and not ending.facts.get("refused"):
            yield f"  go on with: {way}"
        return
    of = f"{len(findings.landed)} of {len(found.options.refs)}"
    yield f"run {run}: {of} landed, {short_ids(findings.tested)}"
    if findings.landed and not (landing.apply or landing.branch):
        yield f"  see it with: bakeoff diff {run}"
        yield f"  take it with: bakeoff apply {run}"


def _tell(text: str) -> None:
    for line in text.split("\n"):
        tell(visible(line))
