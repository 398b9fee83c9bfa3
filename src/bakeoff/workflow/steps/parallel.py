"""`parallel`: named lists of steps side by side, each blind to what the others do until all have ended."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from bakeoff.engine.events import FanOpened
from bakeoff.engine.fan_out import fan_out
from bakeoff.engine.record import RunStatus
from bakeoff.workflow.context import Halt, NodeContext
from bakeoff.workflow.scope import Scope
from bakeoff.workflow.steps.container import asked_bound


@dataclass(slots=True)
class _End:
    name: str
    scope: Scope
    halt: Halt | None


async def run_parallel(context: NodeContext) -> Halt | None:
    """Run every branch; later steps see the records of all of them, as far as they went."""
    step = context.step
    started = context.started()
    names = list(step.branches)
    asked = len(names) if step.max_concurrency is None else asked_bound(context)

    async def branch(_: int, name: str) -> _End:
        scope = Scope(context.scope)
        scope.follow("branch", name)
        return _End(name, scope, await context.steps(step.branches[name], scope))

    def revival(end: _End) -> anyio.Event | None:
        waits = end.halt is not None and end.halt.status is RunStatus.PAUSED and end.halt.gate is not None
        return context.run.answer_event(end.halt.path) if waits and end.halt else None

    context.run.events.emit(FanOpened(started, context.path, len(names), min(asked, len(names)), asked))
    ends = await fan_out(
        names,
        branch,
        bound=max(1, min(asked, len(names))),
        halts=lambda end: end.halt is not None,
        revival=revival,
    )
    for end in ends:
        context.scope.merge(end.scope)
    context.scope.follow("parallel", *(end.scope.chain for end in ends))
    halt = ends[-1].halt if ends else None
    if halt is None or not halt.raised:
        branches = {end.name: "halted" if end.halt else "completed" for end in ends}
        await context.ended(started, {"branches": branches}, facts={"halted": halt is not None})
    return halt
