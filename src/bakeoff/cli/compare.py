"""`bakeoff compare`."""

from __future__ import annotations

import click

from bakeoff.cli.attempt import (
    BENCH_OUTPUT,
    CHECK,
    CHECK_TIMEOUT,
    MAY_EDIT,
    MIN_SPEEDUP,
    PARALLEL,
    PROTECT,
    SANDBOX,
    SCORE,
    SECONDS,
    attempt_store,
)


@click.command("compare")
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@CHECK
@SCORE
@click.option(
    "--bench", metavar="CMD", help="Time this command: of what passes, the fastest wins if it is faster than the base."
)
@BENCH_OUTPUT
@MIN_SPEEDUP
@SECONDS
@click.option("--base", metavar="REF", default="HEAD", show_default=True, help="The commit that they are compared on.")
@MAY_EDIT
@PROTECT
@PARALLEL
@CHECK_TIMEOUT
@SANDBOX
@click.option("--run-id", help="The run's id; made up if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object about the run.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors and the result.")
def command(
    refs: tuple[str, ...],
    checks: tuple[str, ...],
    score: str | None,
    bench: str | None,
    bench_output: str,
    min_speedup: float,
    seconds: float,
    base: str,
    may_edit: tuple[str, ...],
    protect: tuple[str, ...],
    max_parallel: int | None,
    check_timeout: float | None,
    sandbox: str | None,
    run_id: str | None,
    as_json: bool,
    quiet: bool,
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
    from bakeoff.sampling.attempt.options import AttemptOptions
    from bakeoff.sampling.attempt.session import start

    asked = AttemptOptions(
        task=f"compare {' '.join(refs)}",
        refs=refs,
        attempts=len(refs),
        checks=checks,
        score=score,
        bench=bench,
        bench_output=bench_output,
        min_speedup=min_speedup,
        seconds=seconds,
        base=base,
        may_edit=may_edit,
        protect=protect,
        check_timeout=check_timeout,
        sandbox=sandbox,
    )
    run_options = RunOptions(max_parallel=max_parallel, adopt=True)
    store = attempt_store()
    check_refs(store.project, refs)
    session = JobSession(store, run_options, lambda: start(store, asked, run_options, run_id))
    carry_out(JOB, session, as_json=as_json, quiet=quiet)
