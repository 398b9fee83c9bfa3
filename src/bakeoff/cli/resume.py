"""`bakeoff resume`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("resume")
@click.argument("run")
@click.option("-i", "--input", "pairs", multiple=True, metavar="NAME=VALUE", help="A new value for an input.")
@click.option("--edit", type=click.Path(path_type=Path), help="Go on with this changed file instead.")
@click.option("--max-parallel", type=click.IntRange(min=1), help="Leaves that run at once, over all nesting.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def command(
    run: str, pairs: tuple[str, ...], edit: Path | None, max_parallel: int | None, as_json: bool, quiet: bool
) -> None:
    """Go on with RUN: what has ended is kept, the rest runs.

    Exit status: as for `run`.
    """
    from bakeoff.cli.ending import fail, parse_inputs, project, run_to_end
    from bakeoff.engine.errors import BakeoffError
    from bakeoff.engine.store import RunStore
    from bakeoff.workflow.job import Conditions, resume

    conditions = Conditions(max_parallel=max_parallel, adopt=True)
    try:
        inputs = parse_inputs(pairs)
    except BakeoffError as failure:
        fail(failure)
    store = RunStore(project())
    run_to_end(lambda: resume(store, run, inputs, conditions, edit=edit), as_json, lambda folder, ending: None)
