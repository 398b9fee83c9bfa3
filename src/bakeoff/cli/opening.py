"""What commands about existing runs share: finding the run, and leaving with one clear message."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from bakeoff.cli.say import say
from bakeoff.engine.errors import BakeoffError
from bakeoff.engine.store import RunFolder, RunStore, find_project
from bakeoff.report.escape import visible


def fail(failure: BakeoffError) -> NoReturn:
    """Say what is wrong and leave; nothing goes to standard output."""
    click.echo(f"error: {visible(str(failure))}", err=True)
    sys.exit(failure.exit_status)


def project() -> Path:
    """The project that commands about existing runs look at."""
    return find_project(Path.cwd())


def store() -> RunStore:
    """The runs of that project."""
    return RunStore(project())


def sweep_dead_runs() -> None:
    """End what runs of this project whose coordinator and supervisor both died have left behind; says so, if any.

    Other projects' runs are left alone: their folders may not be what they seem from here (containers).
    """
    from bakeoff.engine.sweep import sweep

    runs = store().runs

    def is_dead(token: str) -> bool:
        folder = RunFolder(Path(token))
        return folder.root.parent == runs and os.path.isdir(folder.root) and not folder.alive()

    killed = sweep(is_dead)
    for token in sorted({survivor.token for survivor in killed}):
        count = sum(survivor.token == token for survivor in killed)
        say(f"ended {count} process(es) that run {Path(token).name} had left behind")


def open_run(run_id: str | None) -> RunFolder:
    """The run of that id, or without one the run last worked on; where there is none, say so and leave."""
    sweep_dead_runs()
    runs = store()
    try:
        if run_id is not None:
            return runs.open(run_id)
        latest = runs.latest(1)
        if not latest:
            refuse(f"there are no runs yet under {runs.runs}")
        say(f"run {latest[0].id}, the latest")
        return latest[0]
    except BakeoffError as failure:
        fail(failure)


def refuse(text: str) -> NoReturn:
    """End the command with one clear message.

    Raises:
        BakeoffError: always.
    """
    raise BakeoffError(text)


def misused(text: str) -> NoReturn:
    """The command line does not make sense.

    Raises:
        click.UsageError: always.
    """
    raise click.UsageError(text)
