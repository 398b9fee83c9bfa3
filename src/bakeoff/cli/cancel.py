"""`bakeoff cancel`."""

from __future__ import annotations

import sys

import click

from bakeoff.cli.completing import RUN

PATIENCE = 60.0
"""Seconds that `cancel` waits for the run to have ended its processes."""


@click.command("cancel")
@click.argument("run", type=RUN)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str, as_json: bool) -> None:
    """Stop RUN, which is live: its processes are ended, what has ended is kept, and `resume` can go on.

    Exit status: 0 it is cancelled; 1 it was not live, or had ended before.
    """
    import time

    from bakeoff.cli.output import print_json, say, tell
    from bakeoff.cli.run_lookup import open_run, refuse
    from bakeoff.engine.control import send
    from bakeoff.report.overview import overview

    folder = open_run(run)
    if not folder.alive():
        status = overview(folder).status or "unreadable"
        refuse(f"run {run} is not live: it is {status}; there is nothing to cancel")
    end = time.monotonic() + PATIENCE
    heard = False
    while folder.alive():
        if time.monotonic() > end:
            refuse(f"run {run} was told to stop, but still ends its processes; look with `bakeoff watch {run}`")
        # A run that is just beginning does not listen yet, and one that stops may not find the time to reply.
        heard = heard or send(folder.root, {"do": "cancel"}) is not None
        time.sleep(0.02)
    status = str(overview(folder).status)
    if as_json:
        print_json({"run_id": run, "status": status})
    elif status == "cancelled":
        tell(f"run {run} is cancelled; `bakeoff resume {run}` goes on")
    else:
        say(f"run {run} is {status}")
    sys.exit(0 if status == "cancelled" else 1)
