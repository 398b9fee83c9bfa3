"""Registry of jobs: an entry each. Commands, reports and `resume` find a run's job here and name none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class JobEntry:
    """Entry of a job.

    Attributes:
        name: the job, as a run's record has it (`job` in its metadata).
        module: where its `JOB` is, an object of `bakeoff.jobs.job.Job`; imported when a run of it is looked at.
        commands: its own commands by name: where each is, as `module:attribute`, and what `bakeoff --help` says of it.
        nothing: what a run is said to have come to that completed without a result; empty where it always has one.
        has_ceilings: whether a run that spent its budget goes on with a higher ceiling, given as an input.
        in_results: whether bakeoff's repository holds what its runs made, to be forgotten with them.
        keeps_snapshot: whether a failed run, gone on with, has the files as they were when it began.
    """

    name: str
    module: str
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    nothing: str = ""
    has_ceilings: bool = True
    in_results: bool = False
    keeps_snapshot: bool = False


WORKFLOW = JobEntry(
    "workflow",
    "bakeoff.workflow.job",
    {"run": ("bakeoff.cli.run:command", "Run a workflow file.")},
    has_ceilings=False,
)

ATTEMPT = JobEntry(
    "attempt",
    "bakeoff.sampling.attempt.job",
    {
        "attempt": ("bakeoff.cli.attempt:command", "Have agents attempt a task, judge what they made, keep the best."),
        "compare": ("bakeoff.cli.compare:command", "Judge branches, commits or patches that exist already."),
    },
    "nothing passed",
    in_results=True,
)

MERGE = JobEntry(
    "merge",
    "bakeoff.plan.queue.job",
    {
        "merge": (
            "bakeoff.cli.merge:command",
            "Merge branches in order, land those that pass the checks together, name who breaks them.",
        )
    },
    "nothing landed",
    in_results=True,
)

OPTIMIZE = JobEntry(
    "optimize",
    "bakeoff.optimize.job",
    {
        "optimize": (
            "bakeoff.cli.optimize:command",
            "Make a function faster that goes on behaving as it does.",
        )
    },
    "nothing is faster",
    keeps_snapshot=True,
)

PLAN = JobEntry(
    "plan",
    "bakeoff.plan.run.job",
    {
        "plan": (
            "bakeoff.cli.plan:command",
            "Split a goal into subplans, have agents work side by side, merge and verify what they make.",
        )
    },
    "nothing landed",
    in_results=True,
)

JOBS: dict[str, JobEntry] = {entry.name: entry for entry in (WORKFLOW, ATTEMPT, MERGE, OPTIMIZE, PLAN)}
"""All jobs by name. A run of another name was made by a program (`bakeoff.durable`), which alone can go on with it."""
