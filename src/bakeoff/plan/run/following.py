"""Events of a plan that another process carries out: what its journal says of nodes, as a plan says it of subplans."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bakeoff.engine.events import Event, NodeEnded, NodeStarted, RunChanged
from bakeoff.engine.record import RunStatus, Status
from bakeoff.plan.events import PlanBegun, PlanSaid, SubplanChanged
from bakeoff.plan.queue.lines import name_of
from bakeoff.plan.queue.view import Ran
from bakeoff.plan.run.view import node_of, run_view

if TYPE_CHECKING:
    from bakeoff.engine.store import RunFolder


def as_plan(folder: RunFolder, tell: Callable[[Event], None]) -> Callable[[Event], None]:
    """Callback that hands events of a run's journal on to `tell`, with those that a plan adds in its own process."""
    known = False

    def begun(at: float) -> None:
        nonlocal known
        plan = run_view(folder.history(), RunStatus.RUNNING).plan
        needs = {name: tuple(sorted(others)) for name, others in plan.graph().needs.items()}
        known = bool(plan.subplans)  # not while it is being split
        tell(PlanBegun(at, plan.tree(), needs))

    def told(event: Event) -> None:
        tell(event)
        match event:
            case RunChanged() if event.status == RunStatus.RUNNING:
                begun(event.at)
            case NodeStarted() if (node := node_of(event.path)) is not None and not node[1]:
                if not known:
                    begun(event.at)
                tell(SubplanChanged(event.at, node[0], Status.RUNNING))
            case NodeEnded(at, record) if (node := node_of(record.path)) is not None and not node[1]:
                tell(SubplanChanged(at, node[0], record.status, record.error or ""))
            case NodeEnded(at, record) if record.path.startswith("round:"):
                ran = Ran.at(record.path.partition("/")[2], record)
                if ran is not None and ran.verdict is not None:
                    tell(PlanSaid(at, f"{name_of(ran)}: {'passed' if ran.verdict.result else 'failed'}"))

    return told
