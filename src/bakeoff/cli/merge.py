"""`bakeoff merge`."""

from __future__ import annotations

import click

from bakeoff.cli.attempt import CHECK_TIMEOUT, PARALLEL, SANDBOX, attempt_store
from bakeoff.settings.merge import STRATEGIES


@click.command("merge")
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@click.option("--check", "checks", multiple=True, metavar="CMD", help="Must end with exit status 0; may be repeated.")
@click.option("--base", metavar="REF", default="HEAD", show_default=True, help="The commit to merge onto.")
@click.option("--strategy", type=click.Choice(STRATEGIES),
              help="In a conflict the later one stays out, nothing lands, or what it has is dropped.")  # fmt: skip
@click.option("--union", multiple=True, metavar="GLOB", help="Files whose lines may come from both sides.")
@click.option("--at-once", "width", type=click.IntRange(min=1), metavar="N",
              help="Merges tested at once in the search for a culprit; more take less time and more runs.")  # fmt: skip
@click.option("--tested", is_flag=True, help="They are known to pass by themselves: do not test each alone first.")
@click.option("--no-preflight", "preflight", is_flag=True, flag_value=False, default=True,
              help="Do not run the checks on the base first: what is merged brings what a check needs.")  # fmt: skip
@click.option("--apply", "and_apply", is_flag=True, help="Move the branch that is checked out, and your files with it.")
@click.option("--branch", metavar="NAME", help="Move or make this branch; your files stay as they are.")
@PARALLEL
@CHECK_TIMEOUT
@SANDBOX
@click.option("--run-id", help="The run's id; made up if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors and the result.")
def command(
    refs: tuple[str, ...],
    checks: tuple[str, ...],
    base: str,
    strategy: str | None,
    union: tuple[str, ...],
    width: int | None,
    tested: bool,
    preflight: bool,
    and_apply: bool,
    branch: str | None,
    max_parallel: int | None,
    check_timeout: float | None,
    sandbox: str | None,
    run_id: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Merge REFs, which are branches or commits, in this order, and land those that pass the checks together.

    All is merged in memory and tested in places of its own; your branches and files stay as they are, but for --apply
    and --branch. Of two that do not go together the earlier one lands, and the other is named with it.

    Exit status: 0 all landed; 3 some; 1 none, or refused or failed; 130 or 143 interrupted.
    """
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.cli.run_lookup import misused
    from bakeoff.jobs.job import JobSession
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.session import RunOptions
    from bakeoff.plan.queue.job import JOB
    from bakeoff.plan.queue.lines import MergeProgress
    from bakeoff.plan.queue.options import MergeOptions
    from bakeoff.plan.queue.session import start

    if and_apply and branch is not None:
        misused("--apply or --branch, not both")
    asked = MergeOptions(
        refs=refs,
        checks=checks,
        base=base,
        strategy=strategy,
        width=width,
        union=union or None,
        tested=tested,
        preflight=preflight,
        check_timeout=check_timeout,
        sandbox=sandbox,
    )
    run_options = RunOptions(max_parallel=max_parallel, adopt=True)
    store = attempt_store()
    session = JobSession(store, run_options, lambda: start(store, asked, run_options, run_id), MergeProgress(refs))
    carry_out(JOB, session, LandingOptions(and_apply, branch), as_json=as_json, quiet=quiet)
