"""`bakeoff resume`."""

from __future__ import annotations

from pathlib import Path

import click

from bakeoff.cli.completing import RUN
from bakeoff.cli.options import JSON, QUIET_STEPS, SessionFlags, session_flags
from bakeoff.cli.run_lookup import DESPITE_DAMAGE


@click.command("resume")
@click.argument("run", type=RUN)
@click.option("-i", "--input", "pairs", multiple=True, metavar="NAME=VALUE", help="A new value for an input.")
@click.option("--edit", type=click.Path(path_type=Path), help="Go on with this changed file instead.")
@click.option(
    "--max-parallel",
    type=click.IntRange(min=1),
    help="Leaves that run at once, over all nesting; as the run was begun if left out.",
)
@DESPITE_DAMAGE
@click.option("--explain", is_flag=True, help="Say what would run again and why, and run nothing.")
@session_flags(JSON, QUIET_STEPS)
def command(
    run: str,
    pairs: tuple[str, ...],
    edit: Path | None,
    max_parallel: int | None,
    despite_damage: bool,
    explain: bool,
    flags: SessionFlags,
) -> None:
    """Go on with RUN: what has ended is kept, the rest runs.

    Exit status: as for `run`.
    """
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.cli.inputs import parse_inputs
    from bakeoff.cli.run_lookup import called_texts_of, hide_secrets_of, misused, refuse_losses, store
    from bakeoff.jobs.job import ResumeRequest, job_called
    from bakeoff.report.overview import overview

    asked = ResumeRequest(store(), run, parse_inputs(pairs), max_parallel, edit)
    folder = asked.runs.open(run)
    job = job_called(overview(folder).job)
    if not job.takes_files and (edit is not None or explain):
        misused(f"--edit and --explain are for runs of workflow files{job.edit_hint}")
    if job.no_inputs and asked.inputs:
        misused(job.no_inputs)
    if explain:
        from bakeoff.cli.planning import print_plan

        hide_secrets_of(edit or folder.definition / "workflow.yml", called=called_texts_of(folder))
        print_plan(job.explain(asked), as_json=flags.as_json)
        return
    if not despite_damage:
        refuse_losses(folder)
    carry_out(job, job.resume(asked), flags)
