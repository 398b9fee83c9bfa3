"""`bakeoff show`."""

from __future__ import annotations

import click

from bakeoff.cli.completing import RUN


@click.command("show")
@click.argument("run", required=False, type=RUN)
@click.option("--all", "everything", is_flag=True, help="List every item and pass, not only those that need a look.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str | None, everything: bool, as_json: bool) -> None:
    """Show RUN, or the latest run: its status and what each of its steps gave."""
    from bakeoff.cli.opening import open_run
    from bakeoff.cli.say import print_json

    folder = open_run(run)
    if as_json:
        from bakeoff.report.state import run_state

        print_json(run_state(folder))
        return
    from bakeoff.cli.picture import print_run

    print_run(folder, everything)
