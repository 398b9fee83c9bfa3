"""Walks a workflow's steps: finds what is done already, runs the rest, and says where and why it stopped."""

from __future__ import annotations

from bakeoff.engine.record import Record, RunStatus, Status
from bakeoff.errors import BudgetSpentError, OutputLostError
from bakeoff.workflow.context import Halt, NodeContext, halted_by, where
from bakeoff.workflow.expressions import ExpressionError, truth
from bakeoff.workflow.steps.container import run_container
from bakeoff.workflow.steps.dispatch import container_of, prepare
from bakeoff.workflow.steps.fan_in import with_results
from bakeoff.workflow.steps.leaf import do_leaf


async def run_step(context: NodeContext) -> Halt | None:
    """Run one step where it stands; returns why nothing may follow it, if so.

    Passes on JournalError: the journal cannot be written.
    """
    step = context.step
    try:
        if step.when is not None and not await _wanted(context):
            return None
        container = container_of(context)
        if container is None:
            return await _run_leaf(context)
        return await run_container(context, container)
    except (ExpressionError, OutputLostError) as failure:
        return Halt(RunStatus.FAILED, where(step, context.path, failure), context.path, raised=True)
    except BudgetSpentError as failure:
        return Halt(RunStatus.BUDGET_SPENT, str(failure), context.path)


async def _wanted(context: NodeContext) -> bool:
    """Whether `when` lets the step run; that it does not is a record of its own."""
    condition = context.step.when
    found = context.run.find(context.path)
    if found is not None:
        wanted = found[0].status is not Status.SKIPPED
    else:
        wanted = condition if isinstance(condition, bool) else truth(context.value("when"))
    if wanted:
        return True
    record = await context.run.kept(context.path)
    if record is None:
        now = context.run.clock.wall()
        record = Record(context.path, context.step.type, Status.SKIPPED, started_at=now, ended_at=now)
        await context.run.commit(record)
    context.add(record)
    return False


async def _run_leaf(context: NodeContext) -> Halt | None:
    """Run a leaf step, unless its result is there already.

    Passes on ExpressionError: a field cannot be evaluated; the step leaves no record then.
    """
    record = await context.run.kept(context.path)
    if record is None:
        record = await _do(context)
    context.scope.follow(record.key)
    context.add(with_results(context, record) if context.step.type == "fan-in" else record)
    return halted_by(context, record)


async def _do(context: NodeContext) -> Record:
    if context.step.workspace is not None:
        from bakeoff.workflow.steps.in_slot import in_slot

        return await in_slot(context)
    leaf = prepare(context)
    return await do_leaf(context, leaf, context.key(leaf.input))
