"""`bakeoff compare`."""

from __future__ import annotations

from typing import Any

import click

from bakeoff.cli.attempt import attempt_store
from bakeoff.cli.options import PARALLEL, SessionFlags, job_options, session_flags
from bakeoff.sampling.attempt.options import AttemptOptions

JUDGING = (
    *("checks", "score", "bench", "bench_output", "min_speedup", "seconds"),
    *("may_edit", "protect", "check_timeout", "sandbox"),
)
"""Options of attempts that are about judging."""


@click.command("compare")
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@job_options(AttemptOptions, JUDGING)
@click.option("--base", metavar="REF", default="HEAD", show_default=True, help="The commit that they are compared on.")
@PARALLEL
@session_flags()
def command(
    refs: tuple[str, ...],
    base: str,
    max_parallel: int | None,
    flags: SessionFlags,
    **judging: Any,
) -> None:
    """Judge REFs, which are branches, commits or patch files, each as it would be on top of --base.

    All are judged; the highest score wins, or the first that passes. With --bench the command is timed in all that
    pass and on the base, one at a time: the fastest that is faster than the base wins. `bakeoff diff` and `bakeoff
    apply` know them.

    Exit status: as for `attempt`.
    """
    from bakeoff.cli.carry_out import carry_out
    from bakeoff.jobs.job import JobSession
    from bakeoff.jobs.session import RunOptions
    from bakeoff.sampling.attempt.given import check_refs
    from bakeoff.sampling.attempt.job import JOB
    from bakeoff.sampling.attempt.session import start

    task = f"compare {' '.join(refs)}"
    asked = AttemptOptions(task=task, refs=refs, attempts=len(refs), base=base, **judging)
    run_options = RunOptions(max_parallel=max_parallel, adopt=True)
    store = attempt_store()
    check_refs(store.project, refs)
    session = JobSession(store, run_options, lambda: start(store, asked, run_options, flags.run_id))
    carry_out(JOB, session, flags)
