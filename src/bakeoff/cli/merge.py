"""`bakeoff merge`."""

from __future__ import annotations

from typing import Any

import click

from bakeoff.cli.attempt import attempt_store
from bakeoff.cli.options import PARALLEL, SessionFlags, job_options, landing_options, session_flags
from bakeoff.jobs.landing_options import LandingOptions
from bakeoff.plan.queue.options import MergeOptions


@click.command("merge")
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@job_options(MergeOptions, without=("lockfiles", "structured"))
@landing_options(
    "Move the branch that is checked out, and your files with it.",
    branch=click.option("--branch", metavar="NAME", help="Move or make this branch; your files stay as they are."),
)
@PARALLEL
@session_flags()
def command(
    refs: tuple[str, ...],
    union: tuple[str, ...],
    max_parallel: int | None,
    landing: LandingOptions,
    flags: SessionFlags,
    **options: Any,
) -> None:
    """Merge REFs, which are branches or commits, in this order, and land those that pass the checks together.

    All is merged in memory and tested in places of its own; your branches and files stay as they are, but for --apply
    and --branch. Of two that do not go together the earlier one lands, and the other is named with it.

    Exit status: 0 all landed; 3 some; 1 none, or refused or failed; 130 or 143 interrupted.
    """
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.jobs.job import JobSession
    from bakeoff.jobs.session import RunOptions
    from bakeoff.plan.queue.job import JOB
    from bakeoff.plan.queue.lines import MergeProgress
    from bakeoff.plan.queue.session import start

    asked = MergeOptions(refs=refs, union=union or None, **options)
    run_options = RunOptions(max_parallel=max_parallel, adopt=True)
    store = attempt_store()
    session = JobSession(
        store, run_options, lambda: start(store, asked, run_options, flags.run_id), MergeProgress(refs)
    )
    carry_out(JOB, session, flags, landing)
