"""The built-in step types, one file each: leaves do work themselves, containers hold other steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bakeoff.workflow.interpreter import Halt, Place
from bakeoff.workflow.step_models import BUILT_IN
from bakeoff.workflow.steps import branch, call, fan_out, loop, parallel
from bakeoff.workflow.steps.leaf import run_leaf

__all__ = ["CONTAINERS", "Container", "container_of", "run_leaf"]

Container = Callable[[Place], Awaitable[Halt | None]]

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


def container_of(place: Place) -> Container | None:
    """How a step that holds others is run; None for a leaf."""
    step = place.step
    built_in = CONTAINERS.get(step.type)
    if built_in is not None or step.type in BUILT_IN:
        return built_in
    custom = place.setting.step_types.container(step.type)
    if custom is None:
        return None

    async def run(place: Place) -> Halt | None:
        halt: Halt | None = await custom.run(place.step, place)
        return halt

    return run
