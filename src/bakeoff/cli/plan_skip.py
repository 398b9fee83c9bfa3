"""`bakeoff plan skip`."""

from __future__ import annotations

import click

from bakeoff.cli.attempt import BRANCH
from bakeoff.cli.completing import RUN


@click.command("skip")
@click.argument("run", type=RUN)
@click.argument("subplan")
@click.option(
    "-i", "--input", "pairs", multiple=True, metavar="NAME=VALUE", help="Another max_cost, max_tokens, max_calls."
)
@click.option("--apply", "and_apply", is_flag=True, help="Write what landed into your files.")
@BRANCH
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors and the result.")
def command(
    run: str,
    subplan: str,
    pairs: tuple[str, ...],
    and_apply: bool,
    branch: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Leave SUBPLAN of RUN out: what waits for it goes on without it, and the rest is merged anew.

    The run must have stopped or ended. Exit status: as for `bakeoff plan run`.
    """
    from bakeoff.cli.plan_changing import change_run
    from bakeoff.plan.run.changes import SKIP, Change

    change_run(
        run,
        Change(SKIP, subplan),
        pairs,
        apply=and_apply,
        branch=branch,
        as_json=as_json,
        quiet=quiet,
    )
