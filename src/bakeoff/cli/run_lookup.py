"""Run look-up: the run that a command is about, its secrets hidden, its losses refused; refusals in one message."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import NoReturn

import click

from bakeoff.cli.output import hide, say
from bakeoff.engine.journal import open_to_read
from bakeoff.engine.store import RunFolder, RunStore, find_project
from bakeoff.errors import BakeoffError, JournalError
from bakeoff.report.words import counted
from bakeoff.system.named_files import read_named


def project() -> Path:
    """The project that commands about existing runs look at."""
    return find_project(Path.cwd())


def store() -> RunStore:
    """The runs of that project."""
    return RunStore(project())


def sweep_dead_runs() -> None:
    """End what runs of this project whose coordinator and supervisor both died have left behind; says so, if any.

    So ends what a command that died in this project has left behind of programs it ran itself, such as content filters.
    Other projects are left alone: their folders may not be what they seem from here (containers).
    """
    runs = store().runs
    if not runs.is_dir():
        return
    from bakeoff.process.sweep import names_process, sweep

    def is_dead(token: str) -> bool:
        folder = RunFolder(Path(token))
        return folder.root.parent == runs and os.path.isdir(folder.root) and not folder.alive()

    killed = sweep(is_dead, project())
    for token in sorted({survivor.token for survivor in killed}):
        count = sum(survivor.token == token for survivor in killed)
        whose = "a command that was killed" if names_process(token) else f"run {Path(token).name}"
        say(f"ended {count} process(es) that {whose} had left behind")


def open_run(run_id: str | None) -> RunFolder:
    """The run of that id, or without one the run last worked on; hides what is secret in it.

    Passes on BakeoffError: there is none.
    """
    runs = store()
    folder = runs.open(run_id) if run_id is not None else _latest(runs)
    hide_secrets_of(folder.definition / "workflow.yml", called=called_texts_of(folder))
    return folder


def _latest(runs: RunStore) -> RunFolder:
    """The run last worked on.

    Raises:
        BakeoffError: there is none.
    """
    latest = runs.latest(1)
    if not latest:
        raise BakeoffError(f"there are no runs yet under {runs.runs}")
    say(f"run {latest[0].id}, the latest")
    return latest[0]


DESPITE_DAMAGE = click.option(
    "--despite-damage", is_flag=True, help="Also where the journal is damaged: what is lost of it runs again."
)


def refuse_losses(folder: RunFolder) -> None:
    """Do not go on unasked with a run that has lost part of its journal: what it paid for would be paid again.

    What an earlier session was told to go on without is not asked about again.

    Raises:
        BakeoffError: it has.
    """
    from bakeoff.engine.salvage import is_torn

    history = folder.history()
    lost = set(history.damaged) - history.known
    if is_torn(folder.journal):
        what = "its journal is damaged, and what was written last may be missing from it"
    elif lost:
        what = f"{counted(len(lost), 'entry')} of its journal, or the files that they name, cannot be read"
    else:
        return
    raise BakeoffError(
        f"run {folder.id}: {what}. What is lost counts as not done: it runs again, and agents are paid again, also "
        f"beyond the budget. Look with `bakeoff show {folder.id}`; then go on with --despite-damage"
    )


def hide_secrets_of(*files: Path, called: Iterable[str] = ()) -> None:
    """Keep the present values of the secrets that workflow files name out of what is printed from now on.

    Args:
        files: the files; one that cannot be read names none.
        called: texts of the files that they call.
    """
    hide({})
    texts = list(called)
    for file in files:
        with suppress(OSError):  # a program's run has no such file
            texts.append(read_named(file).decode("utf-8", "replace"))
    if any("secrets" in text for text in texts):
        from bakeoff.workflow.secrets import present, secrets_of

        hide(present(secrets_of(*texts)))


def called_texts_of(folder: RunFolder) -> list[str]:
    """The run's own copies of the files that it calls, read without its nodes; none where they cannot be read."""
    query = "SELECT kind, body FROM entry WHERE kind = 'called' OR (kind = 'decide' AND path LIKE '%#workflow')"
    try:
        with closing(open_to_read(folder.journal)) as db:
            rows = [(kind, json.loads(body)) for kind, body in db.execute(query)]
    except (JournalError, sqlite3.DatabaseError, ValueError):
        return []
    return [text for kind, found in rows for text in (found.values() if kind == "called" else [found["text"]])]


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
