"""`while` and `do-while`: each test is decided once and committed, so a resumed run goes on inside its pass."""

from __future__ import annotations

from typing import Any

from bakeoff.workflow.context import Halt, NodeContext
from bakeoff.workflow.expressions import truth
from bakeoff.workflow.scope import Naming


async def run_loop(context: NodeContext) -> Halt | None:
    """Repeat the steps; a bare step id means the newest pass's record.

    `iteration` counts passes from 0. The condition of `while` sees the pass that would come next, that of `do-while`
    the pass that just ended.
    """
    step = context.step
    started = context.started()
    outer = {name: context.scope.lookup(name) for name in ("iteration", "iterations")}
    number, holds = 0, True
    test_first = step.type == "while"
    known = {"max_iterations": step.max_iterations, "loop_type": step.type}
    known |= {"condition_result": True} if test_first else {"condition": step.condition}
    context.expect(known)
    while True:
        if test_first:
            _count(context, outer, number)
        if test_first or number > 0:
            holds = await _holds(context, number)
        if not holds or number == step.max_iterations:
            break
        _count(context, outer, number)
        context.scope.follow("pass", str(number))
        halt = await context.steps(step.steps, naming=Naming.iteration(context.path, number))
        if halt is not None:
            return halt
        number += 1
    for name, value in outer.items():
        context.scope.set(name, value)
    output = {
        **known,
        "iterations": number,
        "capped": holds,
    }
    if test_first:
        output["condition_result"] = number > 0
    await context.ended(started, output)
    return None


def _count(context: NodeContext, outer: dict[str, Any], number: int) -> None:
    context.scope.set("iteration", number)
    context.scope.set("iterations", {**(outer["iterations"] or {}), context.step.id: number})


async def _holds(context: NodeContext, number: int) -> bool:
    condition = context.step.condition
    if isinstance(condition, bool):
        return condition
    return bool(await context.run.decide(f"{context.path}#{number}", lambda: truth(context.value("condition"))))
