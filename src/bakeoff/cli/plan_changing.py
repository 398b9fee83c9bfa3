"""What `plan retry`, `plan skip` and `plan correct` share: a run goes on with a change."""

from __future__ import annotations

from typing import NoReturn

from bakeoff.cli.ending import parse_inputs
from bakeoff.cli.opening import misused, refuse_losses, store
from bakeoff.cli.plan_running import Landing, carry_out
from bakeoff.jobs.session import RunOptions
from bakeoff.plan.run.changes import Change
from bakeoff.plan.run.session import resume


def change_run(
    run: str,
    change: Change,
    pairs: tuple[str, ...],
    *,
    apply: bool,
    branch: str | None,
    as_json: bool,
    quiet: bool,
) -> NoReturn:
    """Put the change on the run's record, run what follows from it, and leave with the exit status.

    Passes on BakeoffError: there is no such run or subplan, or somebody runs it.
    """
    if apply and branch is not None:
        misused("--apply or --branch, not both")
    runs = store()
    refuse_losses(runs.open(run))
    run_options, inputs = RunOptions(adopt=True), parse_inputs(pairs)
    carry_out(
        lambda: resume(runs, run, inputs, run_options, change),
        run_options,
        runs,
        Landing(apply, branch),
        as_json=as_json,
        quiet=quiet,
    )
