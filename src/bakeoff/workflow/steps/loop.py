"""`while` and `do-while`: each test is decided once and committed, so a resumed run goes on inside its pass."""

from __future__ import annotations

from typing import Any

from bakeoff.workflow.context import Halt, Place
from bakeoff.workflow.expressions import truth
from bakeoff.workflow.scope import Naming


async def run_loop(place: Place) -> Halt | None:
    """Repeat the steps; a bare step id means the newest pass's record.

    `iteration` counts passes from 0. The condition of `while` sees the pass that would come next, that of `do-while`
    the pass that just ended.
    """
    step = place.step
    started = place.started()
    outer = {name: place.scope.lookup(name) for name in ("iteration", "iterations")}
    number, holds = 0, True
    test_first = step.type == "while"
    known = {"max_iterations": step.max_iterations, "loop_type": step.type}
    known |= {"condition_result": True} if test_first else {"condition": step.condition}
    place.expect(known)
    while True:
        if test_first:
            _count(place, outer, number)
        if test_first or number > 0:
            holds = await _holds(place, number)
        if not holds or number == step.max_iterations:
            break
        _count(place, outer, number)
        place.scope.follow("pass", str(number))
        halt = await place.steps(step.steps, naming=Naming.iteration(place.path, number))
        if halt is not None:
            return halt
        number += 1
    for name, value in outer.items():
        place.scope.set(name, value)
    output = {
        **known,
        "iterations": number,
        "capped": holds,
    }
    if test_first:
        output["condition_result"] = number > 0
    await place.ended(started, output)
    return None


def _count(place: Place, outer: dict[str, Any], number: int) -> None:
    place.scope.set("iteration", number)
    place.scope.set("iterations", {**(outer["iterations"] or {}), place.step.id: number})


async def _holds(place: Place, number: int) -> bool:
    condition = place.step.condition
    if isinstance(condition, bool):
        return condition
    return bool(await place.run.decide(f"{place.path}#{number}", lambda: truth(place.value("condition"))))
