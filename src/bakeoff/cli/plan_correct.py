"""`bakeoff plan correct`."""

from __future__ import annotations

from typing import Any

import click

from bakeoff.cli.plan_options import change_options


@click.command("correct")
@change_options
@click.argument("prompt")
def command(run: str, subplan: str, prompt: str, **how: Any) -> None:
    """Tell SUBPLAN of RUN something else, and run again what depends on what it makes; all else is kept.

    PROMPT takes the place of all that the subplan was told; it is a text, @FILE, or - for standard input.

    The run must have stopped or ended. Exit status: as for `bakeoff plan run`.
    """
    from bakeoff.cli.attempt import text_given
    from bakeoff.cli.plan_changing import change_run
    from bakeoff.plan.run.changes import CORRECT, Change

    change_run(run, Change(CORRECT, subplan, text_given(prompt)), **how)
