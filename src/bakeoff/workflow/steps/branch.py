"""`if` and `switch`: which list of steps runs is decided once, committed, and never decided again."""

from __future__ import annotations

from typing import Any

from bakeoff.workflow.context import Halt, Place
from bakeoff.workflow.expressions import truth
from bakeoff.workflow.values import as_text, plain


async def run_if(place: Place) -> Halt | None:
    """Run `then` or `else`, in the scope the step itself stands in."""
    step = place.step
    record = await place.kept_or(_condition)
    place.scope.follow("if", str(record.output["condition_result"]))
    place.add(record)
    return await place.steps(step.then if record.output["condition_result"] else step.else_ or ())


def _condition(place: Place) -> dict[str, object]:
    condition = place.step.condition
    return {"condition_result": condition if isinstance(condition, bool) else truth(place.value("condition"))}


async def run_switch(place: Place) -> Halt | None:
    """Run the case whose key reads like the value, else `default`."""
    step = place.step
    record = await place.kept_or(case_of)
    matched = record.output["matched_case"]
    place.scope.follow("switch", matched)
    place.add(record)
    return await place.steps(cases(place).get(matched, step.default or ()))


_DEFAULT = "__default__"


def case_of(place: Place) -> dict[str, object]:
    """The case that the value picks now."""
    value = plain(place.value("expression"))
    text = as_text(value).strip()
    return {"matched_case": text if text in cases(place) else _DEFAULT, "expression_value": value}


def cases(place: Place) -> dict[str, list[Any]]:
    """The cases by the text that picks them."""
    return {as_text(key): steps for key, steps in place.step.cases.items()}
