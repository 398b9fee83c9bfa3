"""What `run` and `resume` share: running a session, saying how it ended, choosing the exit status."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bakeoff.cli.lines import run_session
from bakeoff.cli.opening import fail
from bakeoff.cli.say import print_json, say, stdout_is_gone, tell
from bakeoff.cli.showing import Showing
from bakeoff.engine.record import RunStatus
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder
from bakeoff.errors import BakeoffError, JournalError
from bakeoff.jobs.outcome import how_to_go_on
from bakeoff.report.escape import one_line, visible
from bakeoff.report.overview import Overview, overview
from bakeoff.report.words import duration
from bakeoff.system.named_files import read_named

if TYPE_CHECKING:
    from bakeoff.workflow.session import WorkflowOptions

EXIT = {
    RunStatus.COMPLETED: 0,
    RunStatus.PAUSED: 0,
    RunStatus.FAILED: 1,
    RunStatus.ABORTED: 1,
    RunStatus.CANCELLED: 1,
    RunStatus.BUDGET_SPENT: 4,
}


def parse_inputs(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Inputs from `-i name=value` and `-i @file.json`; the last one of a name wins.

    Raises:
        BakeoffError: a pair has no `=`, or a file is no JSON object.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        if pair.startswith("@"):
            values |= _inputs_of_file(Path(pair[1:]))
            continue
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise BakeoffError(f"-i {pair}: write -i NAME=VALUE or -i @FILE.json")
        values[name.strip()] = value.strip()
    return values


def _inputs_of_file(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_named(path, once=True))
    except OSError as failure:
        raise BakeoffError(f"-i @{path}: the file cannot be read: {failure.strerror}") from failure
    except (ValueError, RecursionError) as failure:
        raise BakeoffError(f"-i @{path}: it is not JSON: {failure}") from failure
    if not isinstance(found, dict):
        raise BakeoffError(f"-i @{path}: it must hold one JSON object, name to value")
    return found


def run_to_end(
    session: Callable[[], Awaitable[tuple[RunFolder, Ending]]],
    run_options: WorkflowOptions,
    folder: Path,
    *,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """Run a session under a display, say how it ended, and leave with its exit status."""
    showing = Showing(run_options.events, folder, quiet=quiet, ask=not as_json)
    run_options.asker = showing.asker

    run, ending = run_session(session, showing)
    try:
        found = ended(run)
    except JournalError as failure:
        fail(failure)
    if as_json:
        print_json(summary(found), indent=2)
    if not as_json or not quiet:
        say_ending(found, as_json=as_json, quiet=quiet)
    interrupted = ending.signal is not None and ending.status is RunStatus.PAUSED
    sys.exit(128 + (ending.signal or 0) if interrupted else EXIT[ending.status])


def ended(folder: RunFolder) -> Overview:
    """How a run that ended stands, read back from the journal, where secrets are masked.

    Raises:
        JournalError: it cannot be read any more.
    """
    found = overview(folder)
    if found.status is None:
        raise JournalError(f"run {folder.id} ended, but does not read back: {found.error}")
    return found


def summary(run: Overview) -> Mapping[str, Any]:
    """What `--json` prints of a session."""
    found = {
        "run_id": run.folder.id,
        "workflow_id": run.workflow_id,
        "status": run.status,
        "current_step_id": run.facts.get("current_step_id"),
        "current_step_index": run.facts.get("current_step_index"),
    }
    for name in ("gate", "outputs"):
        if name in run.facts:
            found[name] = run.facts[name]
    if run.error is not None:
        found["error"] = run.error
    return found


def say_ending(run: Overview, *, as_json: bool = False, quiet: bool = False) -> None:
    """How a run stands and what to type next: on standard output when it is well and that is free, else not."""
    assert run.status is not None
    name, well = run.folder.id, run.status in (RunStatus.COMPLETED, RunStatus.PAUSED)
    if quiet and run.status is RunStatus.COMPLETED:
        return
    lines = [f"run {name} {_how(run)}"]
    gate = run.facts.get("gate") if run.status is RunStatus.PAUSED else None
    if gate:
        lines += _about_gate(name, gate)
    elif (way := how_to_go_on(name, run.status, run.job)) is not None:
        more = " (what has ended is kept)" if run.status is RunStatus.PAUSED else ""
        lines.append(f"  go on with: {way}{more}")
    if run.status in (RunStatus.FAILED, RunStatus.ABORTED):
        lines.append(f"  look with:  bakeoff logs {name}, bakeoff report {name}")
    for key, value in (run.facts.get("outputs") or {}).items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"  {one_line(str(key))}: {one_line(text, 1000)}")
    for line in lines:
        if well and not as_json:
            _tell(line)
        else:
            say(line)


def _tell(line: str) -> None:
    """A line of the result; the run's exit status counts, whether or not anybody still reads."""
    try:
        tell(visible(line))
    except OSError:
        stdout_is_gone()


def _how(run: Overview) -> str:
    seconds = run.facts.get("seconds")
    took = f" after {duration(seconds)}" if seconds is not None else ""
    status = "has spent its budget" if run.status is RunStatus.BUDGET_SPENT else str(run.status)
    return f"{status}{took}{f': {one_line(run.error, 2000)}' if run.error else ''}"


def _about_gate(run_id: str, gate: Mapping[str, Any]) -> list[str]:
    step = gate.get("step_id") or "STEP"
    options = [str(option) for option in gate.get("options") or ()]
    example = shlex.join(["bakeoff", "answer", run_id, str(step), options[0] if options else "CHOICE"])
    return [
        f"  gate {step}: {one_line(str(gate.get('message')), 1000)}",
        f"  choices:    {', '.join(options)}",
        f"  decide:     {example}",
        f"  go on with: bakeoff resume {run_id}",
    ]
