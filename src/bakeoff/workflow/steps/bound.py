"""How many items or branches a step has open at once."""

from __future__ import annotations

from bakeoff.engine.events import Warned
from bakeoff.workflow.checks import odd_concurrency
from bakeoff.workflow.context import Place
from bakeoff.workflow.values import concurrency, loaded, plain


def asked_bound(place: Place) -> int:
    """What `max_concurrency` asks for; a value that counts as another one is said, once for each step.

    Passes on ExpressionError: it cannot be evaluated.
    """
    value = plain(loaded(place.value("max_concurrency")))
    complaint = odd_concurrency(value)
    said = (*place.step.position, "max_concurrency")
    literal = place.step.template("max_concurrency").is_literal  # validation has said it
    if complaint and not literal and said not in place.setting.said and place.run.find(place.path) is None:
        place.setting.said.add(said)
        text = f"step {place.step.id}: max_concurrency {complaint}"
        place.run.events.emit(Warned(place.run.clock.wall(), text, place.path))
    return concurrency(value) or 1
