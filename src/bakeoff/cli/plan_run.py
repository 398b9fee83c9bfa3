"""`bakeoff plan run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bakeoff.cli.attempt import BRANCH, CEILING, CHECK, ENDPOINT, NO_PREFLIGHT, REQUIRE_RED, USD


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--agent", help="The coding agent, instead of the one in the file.")
@click.option("--model", help="The agent's model, instead of the one in the file.")
@ENDPOINT
@CHECK
@NO_PREFLIGHT
@REQUIRE_RED
@click.option("--max-cost", type=USD, metavar="USD", help="Ceiling on money.")
@click.option("--max-tokens", type=CEILING, metavar="N", help="Ceiling on tokens.")
@click.option("--max-calls", type=CEILING, metavar="N", help="Ceiling on calls of the agent.")
@click.option("--max-parallel", type=click.IntRange(min=1), help="Subplans at once, instead of what the file says.")
@click.option("--apply", "and_apply", is_flag=True, help="Write what landed into your files.")
@BRANCH
@click.option("--run-id", help="The run's id; made up if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors and the result.")
def command(
    file: Path,
    checks: tuple[str, ...],
    preflight: bool,
    require_red: bool,
    max_parallel: int | None,
    and_apply: bool,
    branch: str | None,
    run_id: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Carry out the plan that is written in FILE, as `bakeoff plan GOAL --dry-run` writes it.

    What the command line says holds instead of what the file says. The run keeps its own copy of the plan.

    Exit status: 0 all landed; 3 some; 1 none, or refused or failed; 4 budget spent; 130 or 143 interrupted.
    """
    from dataclasses import replace

    from bakeoff.cli.attempt import attempt_store
    from bakeoff.cli.opening import misused
    from bakeoff.cli.plan_running import Landing, carry_out
    from bakeoff.jobs.session import RunOptions
    from bakeoff.plan.run.document import read_file
    from bakeoff.plan.run.session import start

    if and_apply and branch is not None:
        misused("--apply or --branch, not both")
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
    store = attempt_store(branch)
    landing = Landing(and_apply, branch)
    carry_out(
        lambda: start(store, plan, run_options, run_id), run_options, store, landing, as_json=as_json, quiet=quiet
    )
