"""`bakeoff plan run`, and what changes a run of a plan: `retry`, `skip`, `correct`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bakeoff.cli.completing import RUN
from bakeoff.cli.options import JSON, QUIET, SessionFlags, job_options, landing_options, session_flags
from bakeoff.sampling.attempt.options import AttemptOptions

if TYPE_CHECKING:
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.plan.run.changes import Change

_ALL = (
    click.argument("run", type=RUN),
    click.argument("subplan"),
    click.option(
        "-i", "--input", "pairs", multiple=True, metavar="NAME=VALUE", help="Another max_cost, max_tokens, max_calls."
    ),
    landing_options("Write what landed into your files."),
    session_flags(JSON, QUIET),
)


def change_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """RUN, SUBPLAN, and the keyword arguments of `_change_run`."""
    for decorate in reversed(_ALL):
        command = decorate(command)
    return command


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--agent", help="The coding agent, instead of the one in the file.")
@click.option("--model", help="The agent's model, instead of the one in the file.")
@job_options(AttemptOptions, ("endpoint", "checks", "preflight", "require_red", "max_cost", "max_tokens", "max_calls"))
@click.option("--max-parallel", type=click.IntRange(min=1), help="Subplans at once, instead of what the file says.")
@landing_options("Write what landed into your files.")
@session_flags()
def command(
    file: Path,
    checks: tuple[str, ...],
    preflight: bool,
    require_red: bool,
    max_parallel: int | None,
    landing: LandingOptions,
    flags: SessionFlags,
    **options: Any,
) -> None:
    """Carry out the plan that is written in FILE, as `bakeoff plan GOAL --dry-run` writes it.

    What the command line says holds instead of what the file says. The run keeps its own copy of the plan.

    Exit status: 0 all landed; 3 some; 1 none, or refused or failed; 4 budget spent; 130 or 143 interrupted.
    """
    from dataclasses import replace

    from bakeoff.cli.attempt import attempt_store
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.jobs.job import JobSession
    from bakeoff.jobs.session import RunOptions
    from bakeoff.plan.run.document import read_file
    from bakeoff.plan.run.job import JOB
    from bakeoff.plan.run.session import start

    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if checks:
        given["checks"] = checks
    given |= {"preflight": False} if not preflight else {}
    given |= {"require_red": True} if require_red else {}
    plan = read_file(file)
    plan = replace(plan, attempt=replace(plan.attempt, **given))
    if max_parallel is not None:
        plan = replace(plan, config=replace(plan.config, max_parallel=max_parallel))
    run_options = RunOptions(adopt=True)
    store = attempt_store(landing.branch)
    session = JobSession(store, run_options, lambda: start(store, plan, run_options, flags.run_id))
    carry_out(JOB, session, flags, landing)


@click.command("retry")
@change_options
def retry(run: str, subplan: str, **how: Any) -> None:
    """Have SUBPLAN of RUN tried again, and with it what depends on what it makes; all else is kept.

    The run must have stopped or ended. Exit status: as for `bakeoff plan run`.
    """
    from bakeoff.plan.run.changes import RETRY, Change

    _change_run(run, Change(RETRY, subplan), **how)


@click.command("skip")
@change_options
def skip(run: str, subplan: str, **how: Any) -> None:
    """Leave SUBPLAN of RUN out: what waits for it goes on without it, and the rest is merged anew.

    The run must have stopped or ended. Exit status: as for `bakeoff plan run`.
    """
    from bakeoff.plan.run.changes import SKIP, Change

    _change_run(run, Change(SKIP, subplan), **how)


@click.command("correct")
@change_options
@click.argument("prompt")
def correct(run: str, subplan: str, prompt: str, **how: Any) -> None:
    """Tell SUBPLAN of RUN something else, and run again what depends on what it makes; all else is kept.

    PROMPT takes the place of all that the subplan was told; it is a text, @FILE, or - for standard input.

    The run must have stopped or ended. Exit status: as for `bakeoff plan run`.
    """
    from bakeoff.cli.attempt import text_given
    from bakeoff.plan.run.changes import CORRECT, Change

    _change_run(run, Change(CORRECT, subplan, text_given(prompt)), **how)


def _change_run(
    run: str, change: Change, pairs: tuple[str, ...], landing: LandingOptions, flags: SessionFlags
) -> NoReturn:
    """Put the change on the run's record, run what follows from it, and leave with the exit status.

    Passes on BakeoffError: there is no such run or subplan, or somebody runs it.
    """
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.cli.inputs import parse_inputs
    from bakeoff.cli.run_lookup import refuse_losses, store
    from bakeoff.jobs.job import ResumeRequest
    from bakeoff.plan.run.job import JOB

    runs = store()
    refuse_losses(runs.open(run))
    session = JOB.resume(ResumeRequest(runs, run, parse_inputs(pairs), None), change)
    carry_out(JOB, session, flags, landing)
