"""`bakeoff run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bakeoff.cli.options import JSON, PARALLEL, QUIET_STEPS, RUN_ID, SessionFlags, session_flags


@click.command("run")
@click.argument("workflow", type=click.Path(path_type=Path))
@click.option(
    "-i", "--input", "pairs", multiple=True, metavar="NAME=VALUE", help="An input; or @FILE.json for several."
)
@PARALLEL
@click.option("--endpoint", metavar="NAME", help="Set agents up for this endpoint of your settings, and ask its model.")
@click.option("--strict", is_flag=True, help="Refuse files that validation warns about.")
@click.option("--allow-unquoted", is_flag=True, help="Let text from agents into shell commands as it is.")
@click.option("--dry-run", is_flag=True, help="Say what would run, and run nothing.")
@session_flags(RUN_ID, JSON, QUIET_STEPS)
def command(
    workflow: Path,
    pairs: tuple[str, ...],
    dry_run: bool,
    flags: SessionFlags,
    **options: Any,
) -> None:
    """Run WORKFLOW, a YAML file or the id of an installed workflow, in this folder.

    Exit status: 0 completed or paused at a gate; 1 failed, aborted or refused; 4 budget spent; 130 or 143 interrupted.
    """
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.cli.inputs import parse_inputs
    from bakeoff.engine.store import RunStore
    from bakeoff.jobs.job import JobSession
    from bakeoff.workflow.find import require_workflow
    from bakeoff.workflow.job import JOB
    from bakeoff.workflow.session import WorkflowOptions, start

    here = Path.cwd()
    run_options = WorkflowOptions(**options, adopt=True)
    path = require_workflow(str(workflow), None, here)
    inputs = parse_inputs(pairs)
    store = RunStore(here)
    if dry_run:
        from bakeoff.cli.planning import print_plan
        from bakeoff.cli.run_lookup import hide_secrets_of
        from bakeoff.workflow.explain import plan_run

        hide_secrets_of(path)
        print_plan(plan_run(store, path, inputs, run_options), as_json=flags.as_json)
        return
    session = JobSession(store, run_options, lambda: start(store, path, inputs, flags.run_id, run_options))
    carry_out(JOB, session, flags)
