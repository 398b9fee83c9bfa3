"""`if` and `switch`: which list of steps runs is decided once, committed, and never decided again."""

from __future__ import annotations

from typing import Any

from bakeoff.workflow.context import Halt, NodeContext
from bakeoff.workflow.expressions import truth
from bakeoff.workflow.values import as_text, plain


async def run_if(context: NodeContext) -> Halt | None:
    """Run `then` or `else`, in the scope the step itself stands in."""
    step = context.step
    record = await context.kept_or(_condition)
    context.scope.follow("if", str(record.output["condition_result"]))
    context.add(record)
    return await context.steps(step.then if record.output["condition_result"] else step.else_ or ())


def _condition(context: NodeContext) -> dict[str, object]:
    condition = context.step.condition
    return {"condition_result": condition if isinstance(condition, bool) else truth(context.value("condition"))}


async def run_switch(context: NodeContext) -> Halt | None:
    """Run the case whose key reads like the value, else `default`."""
    step = context.step
    record = await context.kept_or(case_of)
    matched = record.output["matched_case"]
    context.scope.follow("switch", matched)
    context.add(record)
    return await context.steps(cases(context).get(matched, step.default or ()))


_DEFAULT = "__default__"


def case_of(context: NodeContext) -> dict[str, object]:
    """The case that the value picks now."""
    value = plain(context.value("expression"))
    text = as_text(value).strip()
    return {"matched_case": text if text in cases(context) else _DEFAULT, "expression_value": value}


def cases(context: NodeContext) -> dict[str, list[Any]]:
    """The cases by the text that picks them."""
    return {as_text(key): steps for key, steps in context.step.cases.items()}
