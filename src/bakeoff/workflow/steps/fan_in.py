"""`fan-in`: gathers the outputs of earlier steps, by reference; and `slot`, which does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.scope import Scope, View
from bakeoff.workflow.steps.leaf import Leaf


def prepare(context: NodeContext) -> Leaf:
    """A fan-in's work: it never waits and takes no time.

    Passes on ExpressionError: an output cannot be evaluated.
    """
    step = context.step
    gathered = [_output(context, name) for name in step.wait_for]
    scope = Scope(context.scope, {"fan_in": {"results": View(gathered)}})
    output = {name: template.evaluate(scope) for name, template in step.templates("output").items()}
    facts = {"gathered": [_path(context, name) for name in step.wait_for]}

    async def work(_: int) -> Outcome:
        return Outcome(output=output, input={"wait_for": step.wait_for}, facts=facts)

    return Leaf({"wait_for": step.wait_for, "output": step.output or {}}, work)


def with_results(context: NodeContext, record: Record) -> Record:
    """A fan-in's record as later steps see it: with `results`, which the journal does not repeat."""
    from dataclasses import replace

    gathered = View([_output(context, name) for name in context.step.wait_for])
    return replace(record, output={"results": gathered, **record.output})


def _output(context: NodeContext, name: str) -> Mapping[str, Any]:
    view = context.scope.record(name)
    return view.record.output if view else {}


def _path(context: NodeContext, name: str) -> str | None:
    view = context.scope.record(name)
    return view.record.path if view else None


def prepare_slot(context: NodeContext) -> Leaf:
    """A slot's work: none."""

    async def work(_: int) -> Outcome:
        return Outcome(Status.SKIPPED)

    return Leaf({}, work)
