"""`bakeoff show`."""

from __future__ import annotations

import sys

import click


@click.command("show")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str, as_json: bool) -> None:
    """Show RUN: its status and what each of its steps gave."""
    import json

    from bakeoff.cli.ending import fail, project
    from bakeoff.engine.errors import BakeoffError
    from bakeoff.engine.store import RunStore
    from bakeoff.report.state import run_state

    try:
        folder = RunStore(project()).open(run)
        state = run_state(folder)
    except BakeoffError as failure:
        fail(failure)
    if as_json:
        json.dump(state, sys.stdout, ensure_ascii=False)
        sys.stdout.write("\n")
