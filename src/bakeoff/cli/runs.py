"""`bakeoff runs`."""

from __future__ import annotations

import click


@click.command("runs")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """List the runs of this project, newest first."""
    from bakeoff.cli.output import print_json, say, tell
    from bakeoff.cli.run_lookup import store
    from bakeoff.jobs.job import outcome
    from bakeoff.report.escape import one_line
    from bakeoff.report.overview import overviews
    from bakeoff.report.text_table import table
    from bakeoff.report.words import duration, moment

    found = overviews(store())
    came_to = [(outcome(run.job, run.status, run.facts) or (None, None))[1] for run in found]
    if as_json:
        print_json({"runs": [run.shown(words) for run, words in zip(found, came_to, strict=True)]})
        return
    if not found:
        say(f"there are no runs yet under {store().runs}")
        return
    rows = [
        [
            run.folder.id,
            one_line(run.workflow_id or run.name or run.job or "-", 40),
            f"{run.status or 'unreadable'}{f', {words}' if words else ''}",
            moment(run.created_at),
            duration(run.updated_at - run.created_at if run.created_at else None),
            one_line(run.error or "", 80),
        ]
        for run, words in zip(found, came_to, strict=True)
    ]
    for line in table(rows, ["RUN", "WORKFLOW", "STATUS", "CREATED", "SPAN", "ERROR"]):
        tell(line)
