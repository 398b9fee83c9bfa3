"""How many paid calls a workflow may make at most, said before the first one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

AGENT_STEPS = frozenset({"command", "prompt"})


@dataclass(frozen=True, slots=True)
class Calls:
    """A bound on the number of agent calls.

    Attributes:
        most: how many there are at most, leaving aside what is open.
        open: what multiplies or adds calls in a number that is not known yet.
    """

    most: int = 0
    open: tuple[str, ...] = ()

    def __add__(self, other: Calls) -> Calls:
        return Calls(self.most + other.most, (*self.open, *other.open))

    def times(self, factor: int) -> Calls:
        """The same, so many times."""
        return Calls(self.most * factor, self.open)

    def __str__(self) -> str:
        if not self.open:
            return f"at most {self.most} agent call{'' if self.most == 1 else 's'}"
        return f"{self.most} agent calls and more: {'; '.join(self.open)}"


def most_calls(steps: Iterable[Any]) -> Calls:
    """The bound for a list of steps, tries and passes included."""
    return sum((_step(step) for step in steps), Calls())


def _step(step: Any) -> Calls:
    tries = step.retry.attempts if step.retry else 1
    if step.type in AGENT_STEPS:
        return Calls(tries)
    return _inside(step).times(tries)


def _inside(step: Any) -> Calls:
    match step.type:
        case "if":
            return _larger([step.then, step.else_ or ()])
        case "switch":
            return _larger([*step.cases.values(), step.default or ()])
        case "while" | "do-while":
            return most_calls(step.steps).times(step.max_iterations)
        case "parallel":
            return sum((most_calls(steps) for steps in step.branches.values()), Calls())
        case "fan-out":
            each = _step(step.step)
            if isinstance(step.items, list) or each == Calls():
                return each.times(len(step.items) if isinstance(step.items, list) else 0)
            return Calls(0, (f"{each.most} for each item of {step.id}, not counted yet", *each.open))
        case "workflow":
            return Calls(0, (f"those of workflow {step.workflow}",))
        case _:
            return Calls()


def _larger(branches: Iterable[Iterable[Any]]) -> Calls:
    found = [most_calls(steps) for steps in branches]
    return Calls(max(calls.most for calls in found), tuple(word for calls in found for word in calls.open))


def announcement(steps: Iterable[Any], ceilings: Mapping[str, float]) -> str | None:
    """What to say before the first call; None where no agent is called."""
    calls = most_calls(steps)
    if calls == Calls() or (calls.most == 0 and all("workflow" in word for word in calls.open)):
        return None
    bounds = ", ".join(f"{amount:g} {kind}" for kind, amount in ceilings.items())
    if not bounds:
        return f"{calls}; no budget is set"
    over = "; tokens are counted when a call has ended, so calls under way may go over" if "tokens" in ceilings else ""
    return f"{calls}; budget: {bounds}{over}"
