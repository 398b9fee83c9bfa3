"""Walks a workflow's steps: finds what is done already, runs the rest, and says where and why it stopped."""

from __future__ import annotations

from bakeoff.engine.record import Record, RunStatus, Status
from bakeoff.errors import BudgetSpentError, OutputLostError
from bakeoff.workflow.context import Halt, Place, halted_by, where
from bakeoff.workflow.expressions import ExpressionError, truth
from bakeoff.workflow.steps.container import run_container
from bakeoff.workflow.steps.dispatch import container_of, prepare
from bakeoff.workflow.steps.fan_in import with_results
from bakeoff.workflow.steps.leaf import do_leaf


async def run_step(place: Place) -> Halt | None:
    """Run one step where it stands; returns why nothing may follow it, if so.

    Passes on JournalError: the journal cannot be written.
    """
    step = place.step
    try:
        if step.when is not None and not await _wanted(place):
            return None
        container = container_of(place)
        if container is None:
            return await _run_leaf(place)
        return await run_container(place, container)
    except (ExpressionError, OutputLostError) as failure:
        return Halt(RunStatus.FAILED, where(step, place.path, failure), place.path, raised=True)
    except BudgetSpentError as failure:
        return Halt(RunStatus.BUDGET_SPENT, str(failure), place.path)


async def _wanted(place: Place) -> bool:
    """Whether `when` lets the step run; that it does not is a record of its own."""
    condition = place.step.when
    found = place.run.find(place.path)
    if found is not None:
        wanted = found[0].status is not Status.SKIPPED
    else:
        wanted = condition if isinstance(condition, bool) else truth(place.value("when"))
    if wanted:
        return True
    record = await place.run.kept(place.path)
    if record is None:
        now = place.run.clock.wall()
        record = Record(place.path, place.step.type, Status.SKIPPED, started_at=now, ended_at=now)
        await place.run.commit(record)
    place.add(record)
    return False


async def _run_leaf(place: Place) -> Halt | None:
    """Run a leaf step, unless its result is there already.

    Passes on ExpressionError: a field cannot be evaluated; the step leaves no record then.
    """
    record = await place.run.kept(place.path)
    if record is None:
        record = await _do(place)
    place.scope.follow(record.key)
    place.add(with_results(place, record) if place.step.type == "fan-in" else record)
    return halted_by(place, record)


async def _do(place: Place) -> Record:
    if place.step.workspace is not None:
        from bakeoff.workflow.steps.in_slot import in_slot

        return await in_slot(place)
    leaf = prepare(place)
    return await do_leaf(place, leaf, place.key(leaf.input))
