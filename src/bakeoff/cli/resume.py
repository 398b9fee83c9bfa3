"""`bakeoff resume`."""

from __future__ import annotations

from pathlib import Path

import click

from bakeoff.cli.completing import RUN
from bakeoff.cli.opening import DESPITE_DAMAGE


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
    from bakeoff.cli.ending import parse_inputs
    from bakeoff.cli.jobs.job import ResumeRequest, job_called
    from bakeoff.cli.opening import store
    from bakeoff.report.overview import overview

    inputs = parse_inputs(pairs)
    runs = store()
    job = overview(runs.open(run)).job
    asked = ResumeRequest(runs, run, inputs, max_parallel, edit, explain, despite_damage, as_json, quiet)
    job_called(job).resume(asked)
