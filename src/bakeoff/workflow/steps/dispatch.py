"""Dispatch on a step's type: the work of a leaf, and how a step that holds others is run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bakeoff.engine.record import Outcome, Status
from bakeoff.workflow.context import Halt, NodeContext
from bakeoff.workflow.step_models import BUILT_IN, UNSUPPORTED, Unsupported
from bakeoff.workflow.steps import branch, call, custom, fan_in, fan_out, gate, loop, parallel, shell
from bakeoff.workflow.steps.leaf import Leaf

Container = Callable[[NodeContext], Awaitable[Halt | None]]

CONTAINERS: dict[str, Container] = {
    "if": branch.run_if,
    "switch": branch.run_switch,
    "while": loop.run_loop,
    "do-while": loop.run_loop,
    "fan-out": fan_out.run_fan_out,
    "parallel": parallel.run_parallel,
    "workflow": call.run_call,
}
"""The built-in step types that hold others."""


def container_of(context: NodeContext) -> Container | None:
    """The runner of a step that holds others; None for a leaf."""
    step = context.step
    built_in = CONTAINERS.get(step.type)
    if built_in is not None or step.type in BUILT_IN:
        return built_in
    written = context.run_context.step_types.container(step.type)
    if written is None:
        return None

    async def run(context: NodeContext) -> Halt | None:
        halt: Halt | None = await written.run(context.step, context)
        return halt

    return run


def prepare(context: NodeContext) -> Leaf:
    """The work of a step, by its type.

    Passes on ExpressionError: a field cannot be evaluated.
    """
    match context.step.type:
        case "shell":
            return shell.prepare(context)
        case "fan-in":
            return fan_in.prepare(context)
        case "gate":
            return gate.prepare(context)
        case "slot":
            return fan_in.prepare_slot(context)
        case "command" | "prompt":
            from bakeoff.workflow.steps import agent

            return agent.prepare(context)
        case name if name in UNSUPPORTED and isinstance(context.step, Unsupported):
            return _unsupported(name)
        case _:
            return custom.prepare(context)


def _unsupported(name: str) -> Leaf:
    async def work(_: int) -> Outcome:
        said = f"steps of type `{name}` are not supported; {UNSUPPORTED[name]}"
        return Outcome(Status.FAILED, error=said, kind="unsupported")

    return Leaf({"type": name}, work)
