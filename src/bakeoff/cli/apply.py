"""`bakeoff apply`."""

from __future__ import annotations

import click

from bakeoff.cli.completing import RUN
from bakeoff.cli.options import BRANCH, WITH_TESTS


@click.command("apply")
@click.argument("run", type=RUN)
@click.argument("where", nargs=-1, metavar="[STEP] [ATTEMPT|SUBPLAN]")
@BRANCH
@WITH_TESTS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str, where: tuple[str, ...], branch: str | None, with_tests: bool, as_json: bool) -> None:
    """Write what ATTEMPT of RUN changes, or its winner, into your files, also when they have changed since.

    Of a plan it is what SUBPLAN made, or all that landed. Of a workflow's run it is the same of STEP, or what STEP made
    in its slot.

    The two are merged in memory. Where they conflict, nothing is touched. What was judged is what lands: the tests
    as they were, unless --with-tests is given.

    Of a merge all that landed becomes the branch that is checked out, with your files, or with --branch another one; a
    branch that moved meanwhile is merged with it.

    Exit status: 0 landed; 1 refused.
    """
    from bakeoff.cli.output import print_json, say, tell
    from bakeoff.cli.run_lookup import store
    from bakeoff.jobs.job import OpenRun, job_of
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.report.escape import visible

    opened = OpenRun(store().open(run))
    landed = job_of(opened).land(opened, where, LandingOptions(branch=branch, with_tests=with_tests), say)
    if as_json:
        print_json({"run_id": opened.folder.id, **landed.to_json()}, indent=2)
    else:
        tell(visible(landed.said))
