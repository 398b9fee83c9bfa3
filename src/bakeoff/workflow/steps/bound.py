"""Concurrency bound of a step: how many items or branches it has open at once."""

from __future__ import annotations

from bakeoff.engine.events import Warned
from bakeoff.workflow.checks import odd_concurrency
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.values import concurrency, loaded, plain


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
