"""Containers, steps that hold others: their settings are those of the steps inside, their time and tries cover them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from bakeoff.engine.events import NodeRetried, Warned
from bakeoff.engine.record import RunStatus, Status
from bakeoff.workflow.checks import odd_concurrency
from bakeoff.workflow.context import Halt, NodeContext
from bakeoff.workflow.scope import digest
from bakeoff.workflow.step_models import BUILT_IN
from bakeoff.workflow.steps.leaf import lanes_of, retry_of
from bakeoff.workflow.steps.shell import environment_given, working_directory
from bakeoff.workflow.values import concurrency, loaded, plain


async def run_container(
    context: NodeContext, container: Callable[[NodeContext], Awaitable[Halt | None]]
) -> Halt | None:
    """Run a step that holds others, within its `timeout`, again as its `retry` says.

    A further try keeps what has ended well and runs the rest, as a resumed run does.
    """
    step, run = context.step, context.run
    if (found := run.find(context.path)) is not None and found[0].continued and found[0].kind == "timeout":
        context.scope.follow("timeout")
        context.add(found[0])
        return None
    _inherit(context)
    before = context.scope.chain
    own = (
        getattr(context.run_context.step_types.custom(step.type), "retries", False)
        if step.type not in BUILT_IN
        else False
    )
    delays = retry_of(None if own else step.retry).delays(run.random)
    attempt = 1
    while True:
        context.scope.chain = digest("independent") if step.independent else before
        halt = await _timed(context, container)
        delay = next(delays, None) if halt is not None and _retried(halt, context) else None
        if delay is None:
            break
        assert halt is not None
        attempt += 1
        run.events.emit(NodeRetried(run.clock.wall(), context.path, attempt, delay, run.masker.text(halt.error or "")))
        await anyio.sleep(delay)
    if step.independent:
        context.scope.chain = digest(before, context.scope.chain)
    return halt


def _inherit(context: NodeContext) -> None:
    """Let `env`, `cwd` and `lane` of the step hold for all that it holds."""
    step, run_context = context.step, context.run_context
    if step.env is None and step.cwd is None and step.lane is None:
        return
    environment = {**run_context.environment, **environment_given(context)} if step.env else run_context.environment
    context.run_context = replace(
        run_context,
        environment=environment,
        cwd=working_directory(context),
        lanes=(*run_context.lanes, *lanes_of(step.lane)),
    )


def _retried(halt: Halt, context: NodeContext) -> bool:
    if halt.status is not RunStatus.FAILED or halt.raised or context.step.retry is None:
        return False
    on = context.step.retry.on
    return not on or halt.kind in on


async def _timed(context: NodeContext, container: Callable[[NodeContext], Awaitable[Halt | None]]) -> Halt | None:
    """The step within its time; what it holds is cancelled when that is up, and what had ended is kept."""
    step = context.step
    if step.timeout is None:
        return await container(context)
    started, before = context.run.clock.wall(), context.scope.chain
    with anyio.move_on_after(step.timeout):
        return await container(context)
    context.scope.chain = digest(before, "timeout")
    error = f"timed out after {step.timeout:g} s"
    record = await context.ended(
        started,
        {"timed_out": True},
        status=Status.FAILED,
        error=error,
        kind="timeout",
        continued=step.continue_on_error,
    )
    return (
        None
        if record.continued
        else Halt(RunStatus.FAILED, f"step {context.path}: {error}", context.path, kind="timeout")
    )


def asked_bound(context: NodeContext) -> int:
    """The bound that `max_concurrency` asks for; a value that counts as another one is said, once for each step.

    Passes on ExpressionError: it cannot be evaluated.
    """
    value = plain(loaded(context.value("max_concurrency")))
    complaint = odd_concurrency(value)
    said = (*context.step.position, "max_concurrency")
    literal = context.step.template("max_concurrency").is_literal  # validation has said it
    if complaint and not literal and said not in context.run_context.said and context.run.find(context.path) is None:
        context.run_context.said.add(said)
        text = f"step {context.step.id}: max_concurrency {complaint}"
        context.run.events.emit(Warned(context.run.clock.wall(), text, context.path))
    return concurrency(value) or 1
