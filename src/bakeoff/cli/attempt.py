"""`bakeoff attempt`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bakeoff.cli.options import PARALLEL, WITH_TESTS, SessionFlags, job_options, landing_options, session_flags
from bakeoff.sampling.attempt.options import AttemptOptions

if TYPE_CHECKING:
    from bakeoff.engine.store import RunStore
    from bakeoff.jobs.landing_options import LandingOptions


@click.command("attempt")
@click.argument("task")
@job_options(AttemptOptions, without=("task", "bench", "bench_output", "min_speedup", "seconds"))
@PARALLEL
@landing_options(
    "Write the winner's changes into your files.",
    WITH_TESTS,
    click.option("--diff", is_flag=True, help="Print the winner's diff however long it is."),
)
@session_flags()
def command(
    task: str, max_parallel: int | None, landing: LandingOptions, flags: SessionFlags, **options: object
) -> None:
    """Have a coding agent attempt TASK several times, each in a place of its own, and keep what passes the checks.

    TASK is a text, @FILE, or - for standard input. Your files stay as they are unless --apply is given.

    Exit status: 0 there is a winner; 3 nothing passed; 4 budget spent; 1 refused or failed; 130 or 143 interrupted.
    """
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.jobs.job import JobSession
    from bakeoff.jobs.session import RunOptions
    from bakeoff.sampling.attempt.job import JOB
    from bakeoff.sampling.attempt.session import start

    asked = AttemptOptions(task=text_given(task), **options)  # type: ignore[arg-type]
    run_options = RunOptions(max_parallel=max_parallel, adopt=True)
    store = attempt_store(landing.branch)
    session = JobSession(store, run_options, lambda: start(store, asked, run_options, flags.run_id))
    carry_out(JOB, session, flags, landing)


def text_given(given: str) -> str:
    """A text, or what is in the file that it names behind @, or - for standard input."""
    from bakeoff.cli.run_lookup import refuse
    from bakeoff.system.named_files import read_named

    if given == "-":
        return sys.stdin.read()
    if given.startswith("@"):
        try:
            return read_named(Path(given[1:]), once=True).decode()
        except (OSError, UnicodeDecodeError) as failure:
            refuse(f"{given}: the file cannot be read: {getattr(failure, 'strerror', failure)}")
    return given


def attempt_store(branch: str | None = None) -> RunStore:
    """The runs of the git work tree that this folder lies in: attempts are kept at its top.

    Passes on ApplyError: `branch`, which is to be made in the end, cannot be; that is known before anything is paid.
    """
    from bakeoff.engine.store import RunStore
    from bakeoff.workspace.snapshot.project import find_project

    project = find_project(Path.cwd())
    if branch is not None:
        from bakeoff.workspace.landing.applying import check_new_branch

        check_new_branch(project, branch)
    return RunStore(project.root)
