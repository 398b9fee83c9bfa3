"""`bakeoff plan skip`."""

from __future__ import annotations

from typing import Any

import click

from bakeoff.cli.plan_options import change_options


@click.command("skip")
@change_options
def command(run: str, subplan: str, **how: Any) -> None:
    """Leave SUBPLAN of RUN out: what waits for it goes on without it, and the rest is merged anew.

    The run must have stopped or ended. Exit status: as for `bakeoff plan run`.
    """
    from bakeoff.cli.plan_changing import change_run
    from bakeoff.plan.run.changes import SKIP, Change

    change_run(run, Change(SKIP, subplan), **how)
