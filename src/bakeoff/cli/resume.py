"""`bakeoff resume`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bakeoff.cli.completing import RUN
from bakeoff.cli.opening import DESPITE_DAMAGE

if TYPE_CHECKING:
    from bakeoff.engine.store import RunStore


@click.command("resume")
@click.argument("run", type=RUN)
@click.option("-i", "--input", "pairs", multiple=True, metavar="NAME=VALUE", help="A new value for an input.")
@click.option("--edit", type=click.Path(path_type=Path), help="Go on with this changed file instead.")
@click.option("--max-parallel", type=click.IntRange(min=1), help="Leaves that run at once, over all nesting.")
@DESPITE_DAMAGE
@click.option("--explain", is_flag=True, help="Say what would run again and why, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say only what needs you: errors, and a gate that waits.")
def command(
    run: str,
    pairs: tuple[str, ...],
    edit: Path | None,
    max_parallel: int | None,
    despite_damage: bool,
    explain: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Go on with RUN: what has ended is kept, the rest runs.

    Exit status: as for `run`.
    """
    from bakeoff.cli.ending import parse_inputs, run_to_end
    from bakeoff.cli.opening import called_texts_of, hide_secrets_of, refuse_losses, store
    from bakeoff.report.overview import overview
    from bakeoff.workflow.job import Conditions, resume

    conditions = Conditions(max_parallel=max_parallel, adopt=True)
    inputs = parse_inputs(pairs)
    runs = store()
    job = overview(runs.open(run)).job
    if job == "optimize":
        _optimisation(runs, run, inputs, edit, despite_damage, explain, as_json, quiet)
    if job == "plan":
        _plan(runs, run, inputs, max_parallel, edit, despite_damage, explain, as_json, quiet)
    if job == "merge":
        _merge(runs, run, inputs, max_parallel, edit, despite_damage, explain, as_json, quiet)
    if job == "attempt":
        _attempts(runs, run, inputs, max_parallel, edit, despite_damage, explain, as_json, quiet)
    if explain:
        from bakeoff.cli.planning import print_plan
        from bakeoff.workflow.explain import plan_resume

        folder = runs.open(run)
        hide_secrets_of(edit or folder.definition / "workflow.yml", called=called_texts_of(folder))
        print_plan(plan_resume(runs, run, inputs, conditions, edit), as_json=as_json)
        return
    if not despite_damage:
        refuse_losses(runs.open(run))
    run_to_end(
        lambda: resume(runs, run, inputs, conditions, edit=edit),
        conditions,
        runs.project,
        as_json=as_json,
        quiet=quiet,
    )


def _attempts(
    runs: RunStore,
    run: str,
    inputs: dict[str, Any],
    max_parallel: int | None,
    edit: Path | None,
    despite_damage: bool,
    explain: bool,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """The same for a run of attempts."""
    from bakeoff.cli.attempting import Landing, carry_out
    from bakeoff.cli.opening import misused, refuse_losses
    from bakeoff.sampling.attempt.job import Conditions, resume

    if edit is not None or explain:
        misused("--edit and --explain are for runs of workflow files")
    if not despite_damage:
        refuse_losses(runs.open(run))
    conditions = Conditions(max_parallel=max_parallel, adopt=True)
    carry_out(lambda: resume(runs, run, inputs, conditions), conditions, runs, Landing(), as_json=as_json, quiet=quiet)


def _optimisation(
    runs: RunStore,
    run: str,
    inputs: dict[str, Any],
    edit: Path | None,
    despite_damage: bool,
    explain: bool,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """The same for an optimisation."""
    from bakeoff.cli.opening import misused, refuse_losses
    from bakeoff.cli.optimizing import Landing, carry_out
    from bakeoff.optimize.job import resume
    from bakeoff.sampling.attempt.job import Conditions

    if edit is not None or explain:
        misused("--edit and --explain are for runs of workflow files")
    if not despite_damage:
        refuse_losses(runs.open(run))
    conditions = Conditions(adopt=True)
    carry_out(lambda: resume(runs, run, conditions, inputs), conditions, runs, Landing(), as_json=as_json, quiet=quiet)


def _merge(
    runs: RunStore,
    run: str,
    inputs: dict[str, Any],
    max_parallel: int | None,
    edit: Path | None,
    despite_damage: bool,
    explain: bool,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """The same for a merge."""
    from bakeoff.cli.merging import Landing, carry_out
    from bakeoff.cli.opening import misused, refuse_losses
    from bakeoff.plan.queue.job import resume
    from bakeoff.plan.queue.standing import standing
    from bakeoff.sampling.attempt.job import Conditions

    if edit is not None or explain:
        misused("--edit and --explain are for runs of workflow files")
    if inputs:
        misused("-i: a merge has no inputs that could be changed")
    folder = runs.open(run)
    if not despite_damage:
        refuse_losses(folder)
    history = folder.history()
    refs = standing(history, folder.standing(history)[0]).options.refs
    conditions = Conditions(max_parallel=max_parallel, adopt=True)
    carry_out(
        lambda: resume(runs, run, conditions), conditions, runs, Landing(), refs=refs, as_json=as_json, quiet=quiet
    )


def _plan(
    runs: RunStore,
    run: str,
    inputs: dict[str, Any],
    max_parallel: int | None,
    edit: Path | None,
    despite_damage: bool,
    explain: bool,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """The same for a plan."""
    from bakeoff.cli.opening import misused, refuse_losses
    from bakeoff.cli.plan_running import Landing, carry_out
    from bakeoff.plan.run.job import resume
    from bakeoff.sampling.attempt.job import Conditions

    if edit is not None or explain:
        misused("--edit and --explain are for runs of workflow files; see `bakeoff plan correct`")
    if not despite_damage:
        refuse_losses(runs.open(run))
    conditions = Conditions(max_parallel=max_parallel, adopt=True)
    carry_out(lambda: resume(runs, run, inputs, conditions), conditions, runs, Landing(), as_json=as_json, quiet=quiet)
