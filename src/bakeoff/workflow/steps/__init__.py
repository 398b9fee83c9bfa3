"""The built-in step types, one file each: leaves do work themselves, containers hold other steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bakeoff.workflow.interpreter import Halt, Place
from bakeoff.workflow.steps import branch, call, fan_out, loop, parallel
from bakeoff.workflow.steps.leaf import run_leaf

__all__ = ["CONTAINERS", "Container", "run_leaf"]

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
"""The step types that hold others."""
