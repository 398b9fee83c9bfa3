"""`bakeoff plan retry`."""

from __future__ import annotations

from typing import Any

import click

from bakeoff.cli.plan_options import change_options


@click.command("retry")
@change_options
def command(run: str, subplan: str, **how: Any) -> None:
    """Have SUBPLAN of RUN tried again, and with it what depends on what it makes; all else is kept.

    The run must have stopped or ended. Exit status: as for `bakeoff plan run`.
    """
    from bakeoff.cli.plan_changing import change_run
    from bakeoff.plan.run.changes import RETRY, Change

    change_run(run, Change(RETRY, subplan), **how)
