"""Outcome of a session: how it ended in words, what takes the run up again, and the exit status."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff.engine.record import RunStatus
from bakeoff.engine.session import Ending
from bakeoff.jobs.registry import JOBS, WORKFLOW
from bakeoff.report.escape import one_line
from bakeoff.report.overview import Overview
from bakeoff.report.words import duration

EXIT = {
    RunStatus.COMPLETED: 0,
    RunStatus.PAUSED: 0,
    RunStatus.FAILED: 1,
    RunStatus.ABORTED: 1,
    RunStatus.CANCELLED: 1,
    RunStatus.BUDGET_SPENT: 4,
}

UNFINISHED = 3
"""Exit status of a run that is completed, but not with everything that was asked for."""


def exit_status(ending: Ending, completed: int) -> int:
    """The exit status of a session; `completed` is that of one whose run is."""
    if ending.status is RunStatus.PAUSED and ending.signal is not None:
        return 128 + ending.signal
    return completed if ending.status is RunStatus.COMPLETED else EXIT[ending.status]


def stopped_lines(run: str, ending: Ending, job: str) -> Iterator[str]:
    """That a run is not completed, why, and what takes it up again."""
    yield f"run {run} {ending.status.value.replace('_', ' ')}{f': {ending.error}' if ending.error else ''}"
    way = how_to_go_on(run, ending.status, job)
    if way is not None and not ending.facts.get("refused"):
        yield f"  go on with: {way}"


def ending_lines(run: Overview) -> Iterator[str]:
    """Lines on how a run of steps stands, what its outputs are, and what to type next."""
    assert run.status is not None
    name = run.folder.id
    yield f"run {name} {_how(run)}"
    gate = run.facts.get("gate") if run.status is RunStatus.PAUSED else None
    if gate:
        yield from _about_gate(name, gate)
    elif (way := how_to_go_on(name, run.status, run.job)) is not None:
        yield f"  go on with: {way}{' (what has ended is kept)' if run.status is RunStatus.PAUSED else ''}"
    if run.status in (RunStatus.FAILED, RunStatus.ABORTED):
        yield f"  look with:  bakeoff logs {name}, bakeoff report {name}"
    for key, value in (run.facts.get("outputs") or {}).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"  {one_line(str(key))}: {one_line(text, 1000)}"


def _how(run: Overview) -> str:
    seconds = run.facts.get("seconds")
    took = f" after {duration(seconds)}" if seconds is not None else ""
    status = "has spent its budget" if run.status is RunStatus.BUDGET_SPENT else str(run.status)
    return f"{status}{took}{f': {one_line(run.error, 2000)}' if run.error else ''}"


def _about_gate(run: str, gate: Mapping[str, Any]) -> Iterator[str]:
    step = gate.get("step_id") or "STEP"
    options = [str(option) for option in gate.get("options") or ()]
    yield f"  gate {step}: {one_line(str(gate.get('message')), 1000)}"
    yield f"  choices:    {', '.join(options)}"
    example = shlex.join(["bakeoff", "answer", run, str(step), options[0] if options else "CHOICE"])
    yield f"  decide:     {example}"
    yield f"  go on with: bakeoff resume {run}"


def how_to_go_on(run_id: str, status: RunStatus | None, job: str | None) -> str | None:
    """Resumption of a stopped run: what takes it up again; None where nothing does."""
    if status in (RunStatus.COMPLETED, RunStatus.ABORTED, RunStatus.RUNNING, None):
        return None
    if job not in (None, *JOBS):
        higher = ", with a higher budget" if status is RunStatus.BUDGET_SPENT else ""
        return f"the program that made it, called again for run {shlex.quote(run_id)}{higher}"
    entry = JOBS.get(job or "", WORKFLOW)
    if not entry.has_ceilings:
        higher = " --edit FILE, with a higher budget in the file"
    else:
        higher = " -i max_cost=USD (or max_calls=N, max_tokens=N)"
    higher = higher if status is RunStatus.BUDGET_SPENT else ""
    same = " (on the files as they were: once they are mended, start anew)"
    return f"bakeoff resume {run_id}{higher}{same if entry.keeps_snapshot and status is RunStatus.FAILED else ''}"
