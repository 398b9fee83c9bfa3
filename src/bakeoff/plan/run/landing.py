"""Results of plans and of their subplans as work that can be shown and landed."""

from __future__ import annotations

from bakeoff.errors import BakeoffError
from bakeoff.jobs.landing import Work, title_of
from bakeoff.plan.run.view import RunView


def work_of(run: str, found: RunView, name: str | None = None, step: str | None = None) -> Work:
    """The result of a plan, or what one of its subplans made, to be shown and landed.

    Args:
        run: the run's id.
        found: how the plan stands.
        name: the subplan; None for the result.
        step: the workflow's step that the plan is, where it is one.

    Passes on PlanError: there is no such subplan.

    Raises:
        BakeoffError: nothing landed, or it made nothing.
    """
    if name is not None:
        found.plan.find(name)
    facts = found.facts(name)
    if not facts:
        what = "nothing of it landed" if name is None else f"its subplan {name} made nothing"
        whose = f"run {run}" if step is None else f"step {step} of run {run}"
        raise BakeoffError(f"{whose} has nothing that could be shown or taken: {what}")
    state = None if name is None else found.states[name]
    status = "passed" if state is None or state.landed else state.kind or state.status.value
    path = name if step is None else f"{step}/{name}"
    return Work(run, status, facts, title_of(found.plan.goal), None, path, noun="subplan")
