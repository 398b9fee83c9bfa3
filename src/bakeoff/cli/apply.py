"""`bakeoff apply`."""

from __future__ import annotations

import click

from bakeoff.cli.attempt import BRANCH, WITH_TESTS
from bakeoff.cli.completing import RUN


@click.command("apply")
@click.argument("run", type=RUN)
@click.argument("attempt", required=False, type=int)
@BRANCH
@WITH_TESTS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str, attempt: int | None, branch: str | None, with_tests: bool, as_json: bool) -> None:
    """Write what ATTEMPT of RUN changes, or its winner, into your files, also when they have changed since.

    The two are merged in memory. Where they conflict, nothing is touched. What was judged is what lands: the tests
    as they were, unless --with-tests is given.

    Exit status: 0 landed; 1 refused.
    """
    from bakeoff.cli.attempt_runs import open_attempts
    from bakeoff.cli.say import print_json, say, tell
    from bakeoff.report.escape import visible
    from bakeoff.sampling.attempt.landing import chosen, land

    project, folder, found, _ = open_attempts(run)
    view = chosen(found, folder.id, attempt)
    if view.status != "passed":
        say(f"! attempt {view.id} has not passed: {view.status}")
    landed = land(project, folder.id, found, view, branch, with_tests)
    if as_json:
        print_json({"run_id": folder.id, **landed.to_json()}, indent=2)
    else:
        tell(visible(landed.said))
