"""What `run` and `resume` share: running a session, saying how it ended, choosing the exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from bakeoff.engine.errors import BakeoffError, the_failure
from bakeoff.engine.record import RunStatus
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, find_project
from bakeoff.engine.sweep import sweep

EXIT = {
    RunStatus.COMPLETED: 0,
    RunStatus.PAUSED: 0,
    RunStatus.FAILED: 1,
    RunStatus.ABORTED: 1,
    RunStatus.CANCELLED: 1,
    RunStatus.BUDGET_SPENT: 4,
}


def fail(failure: BakeoffError) -> NoReturn:
    """Say what is wrong and leave; nothing goes to standard output."""
    click.echo(f"error: {failure}", err=True)
    sys.exit(failure.exit_status)


def sweep_dead_runs() -> None:
    """End what runs whose coordinator and supervisor both died have left behind; says so when there was any."""
    killed = sweep(lambda token: Path(token).is_absolute() and not RunFolder(Path(token)).alive())
    for token in sorted({survivor.token for survivor in killed}):
        count = sum(survivor.token == token for survivor in killed)
        click.echo(f"ended {count} process(es) that run {Path(token).name} had left behind", err=True)


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
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as failure:
        raise BakeoffError(f"-i @{path}: {failure}") from failure
    if not isinstance(found, dict):
        raise BakeoffError(f"-i @{path}: it must hold one JSON object, name to value")
    return found


def run_to_end(
    session: Callable[[], Awaitable[tuple[RunFolder, Ending]]], as_json: bool, say: Callable[[RunFolder, Ending], None]
) -> NoReturn:
    """Run a session, say how it ended, and leave with its exit status."""
    import anyio

    sweep_dead_runs()
    try:
        folder, ending = anyio.run(session)
    except Exception as raised:
        failure = the_failure(raised)
        if failure is None:
            raise
        fail(failure)
    if as_json:
        click.echo(json.dumps(summary(folder, ending), indent=2, ensure_ascii=False))
    say(folder, ending)
    sys.exit(128 + ending.signal if ending.signal and ending.status is RunStatus.PAUSED else EXIT[ending.status])


def summary(folder: RunFolder, ending: Ending) -> Mapping[str, Any]:
    """What `--json` prints of a session."""
    found = {
        "run_id": folder.id,
        "workflow_id": folder.history().meta.get("workflow_id"),
        "status": ending.status.value,
        "current_step_id": ending.facts.get("current_step_id"),
        "current_step_index": ending.facts.get("current_step_index"),
    }
    for name in ("gate", "outputs"):
        if name in ending.facts:
            found[name] = ending.facts[name]
    if ending.error is not None:
        found["error"] = ending.error
    return found


def project() -> Path:
    """The project that commands about existing runs look at."""
    return find_project(Path.cwd())
