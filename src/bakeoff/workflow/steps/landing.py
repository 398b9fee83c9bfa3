"""`apply:` of a step: what it made, in the user's files or as a branch."""

from __future__ import annotations

import os
from pathlib import Path

from bakeoff.engine.record import Outcome, Status
from bakeoff.jobs.landing import Work, land, title_of
from bakeoff.sampling.attempt.view import Asked
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.values import as_text, plain
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import WorkspaceError

LANE = "apply"
"""One result at a time is put into the user's files."""


async def land_winner(context: NodeContext, asked: Asked, outcome: Outcome) -> None:
    """Do what an attempt step's `apply` says with the winner. Passes on ExpressionError: as `land_result`."""
    output = outcome.output
    facts = {"judged": output["commit"], "commit": output["whole"]}
    work = Work(context.run.root.name, "passed", facts, title_of(asked.options.task), output["winner"], context.path)
    said = f"attempt {work.attempt} passed"
    await land_result(context, outcome, work, said, with_tests=context.step.with_tests)


async def land_result(
    context: NodeContext, outcome: Outcome, work: Work, said: str, *, with_tests: bool = False
) -> None:
    """Do what the step's `apply` says with its result; that it could not be done is the step's failure.

    It is a leaf of its own, `STEP/apply`: a resumed run that finds it done does not do it again.

    Args:
        context: the step.
        outcome: how it ended; it is told what was done.
        work: the result.
        said: what went well before, for the message where this does not.
        with_tests: take over changed tests, too.

    Passes on ExpressionError: `apply` cannot be evaluated.
    """
    wanted = plain(context.value("apply"))
    if wanted in (None, False, ""):
        return
    name = None if wanted is True else as_text(wanted)
    project = Path(os.path.realpath(context.run_context.project))

    async def leaf(_: int) -> Outcome:
        try:
            landed = await in_thread(land, project, work, name, with_tests)
        except WorkspaceError as failure:
            return Outcome(Status.FAILED, error=str(failure), kind="conflict")
        return Outcome(output=landed.to_json())

    key, lanes = context.key("apply", work.facts, name), (LANE, *context.run_context.lanes)
    record = await context.run.leaf(f"{context.path}/apply", "apply", leaf, key=key, lanes=lanes)
    if record.status is Status.COMPLETED:
        outcome.output = {**outcome.output, "applied": dict(record.output)}
    else:
        outcome.status, outcome.kind = Status.FAILED, record.kind
        outcome.error = f"{said}, but the result was not applied: {record.error}"
