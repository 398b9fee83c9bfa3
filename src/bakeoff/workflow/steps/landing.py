"""`apply:` of an attempt step: the winner's changes in the user's files, or as a branch."""

from __future__ import annotations

from pathlib import Path

from bakeoff.engine.record import Outcome, Status
from bakeoff.sampling.attempt.landing import Work, land, landed_before, title_of
from bakeoff.sampling.attempt.standing import Asked
from bakeoff.workflow.interpreter import Place
from bakeoff.workflow.values import as_text, plain
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import WorkspaceError

LANE = "apply"
"""One result at a time is put into the user's files."""


async def land_winner(place: Place, asked: Asked, outcome: Outcome) -> None:
    """Do what the step's `apply` says with the winner; that it could not be done is the step's failure.

    It is a leaf of its own, `STEP/apply`: a resumed run that finds it done does not do it again.

    Passes on ExpressionError: `apply` cannot be evaluated.
    """
    wanted = plain(place.value("apply"))
    if wanted in (None, False, ""):
        return
    name = None if wanted is True else as_text(wanted)
    output = dict(outcome.output)
    facts = {"judged": output["commit"], "commit": output["whole"]}
    title = title_of(asked.options.task)
    work = Work(place.run.root.name, "passed", facts, title, output["winner"], place.path)
    project, with_tests = Path(place.setting.project), place.step.with_tests

    async def leaf(_: int) -> Outcome:
        try:
            before = await in_thread(landed_before, project, work, name, with_tests)
            landed = await in_thread(land, project, work, name, with_tests) if before is None else before
        except WorkspaceError as failure:
            return Outcome(Status.FAILED, error=str(failure), kind="conflict")
        return Outcome(output=landed.to_json())

    record = await place.run.leaf(
        f"{place.path}/apply", "apply", leaf, key=place.key("apply", facts, name), lanes=(LANE, *place.setting.lanes)
    )
    if record.status is Status.COMPLETED:
        outcome.output = {**output, "applied": dict(record.output)}
    else:
        outcome.status, outcome.kind = Status.FAILED, record.kind
        outcome.error = f"attempt {work.attempt} passed and was not applied: {record.error}"
