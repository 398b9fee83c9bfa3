"""Registry of jobs: a line each. Commands, reports and `resume` find a run's job here and name none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobEntry:
    """Entry of a job.

    Attributes:
        name: the job, as a run's record has it (`job` in its metadata).
        module: where its `JOB` is, an object of `bakeoff.cli.jobs.job.Job`; imported when a run of it is looked at.
        nothing: what a run is said to have come to that completed without a result; empty where it always has one.
        has_ceilings: whether a run that spent its budget goes on with a higher ceiling, given as an input.
        in_results: whether bakeoff's repository holds what its runs made, to be forgotten with them.
        keeps_snapshot: whether a failed run, gone on with, has the files as they were when it began.
    """

    name: str
    module: str
    nothing: str = ""
    has_ceilings: bool = True
    in_results: bool = False
    keeps_snapshot: bool = False


WORKFLOW = JobEntry("workflow", "bakeoff.cli.jobs.workflow", has_ceilings=False)

JOBS: dict[str, JobEntry] = {
    entry.name: entry
    for entry in (
        WORKFLOW,
        JobEntry("attempt", "bakeoff.cli.jobs.attempt", "nothing passed", in_results=True),
        JobEntry("optimize", "bakeoff.cli.jobs.optimize", "nothing is faster", keeps_snapshot=True),
        JobEntry("merge", "bakeoff.cli.jobs.merge", "nothing landed", in_results=True),
        JobEntry("plan", "bakeoff.cli.jobs.plan", "nothing landed", in_results=True),
    )
}
"""All jobs by name. A run of another name was made by a program (`bakeoff.durable`), which alone can go on with it."""
