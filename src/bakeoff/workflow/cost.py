"""Worst-case number of paid calls of a workflow, said before the first one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from bakeoff.jobs import costs
from bakeoff.model.retrying import RETRY
from bakeoff.workflow.definition import Workflow

AGENT_STEPS = frozenset({"command", "prompt"})

FindCopy: TypeAlias = Callable[[str, Path | None], Workflow | None]
"""The workflow that a step calls, given the name and the file of the caller; None where it cannot be seen."""

TERMS = 20
"""Kinds of items, and steps, that a bound names one by one."""


@dataclass(frozen=True, slots=True)
class Calls:
    """A bound on the number of agent calls.

    Attributes:
        most: how many there are at most, leaving aside what is open.
        each: how many more for each item of fan-outs whose items are not known yet, by their ids from inside out.
        unseen: steps that call a workflow whose name is only known during the run.
        uncounted: steps of which only the run tells how many they make, for expressions or what is split say so.
        models: whether there are calls of models among them, and not of agents alone.
        capped: steps that have a ceiling of their own.
    """

    most: int = 0
    each: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()
    models: bool = False
    capped: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.most or self.each or self.uncounted)

    def __add__(self, other: Calls) -> Calls:
        each = {fans: self.each.get(fans, 0) + other.each.get(fans, 0) for fans in (*self.each, *other.each)}
        return Calls(
            self.most + other.most,
            each,
            self.unseen + other.unseen,
            self.uncounted + other.uncounted,
            self.models or other.models,
            tuple(dict.fromkeys(self.capped + other.capped)),
        )

    def __or__(self, other: Calls) -> Calls:
        """The larger of two, of which one happens."""
        each = {fans: max(self.each.get(fans, 0), other.each.get(fans, 0)) for fans in (*self.each, *other.each)}
        return replace(self + other, most=max(self.most, other.most), each=each)

    def times(self, factor: int) -> Calls:
        """The same, so many times."""
        each = {fans: count * factor for fans, count in self.each.items()}
        return replace(self, most=self.most * factor, each=each)

    def for_each(self, fan: str) -> Calls:
        """The same for each item of a fan-out."""
        each = {(*fans, fan): count for fans, count in self.each.items()}
        return replace(self, most=0, each={(fan,): self.most, **each} if self.most else each)

    def inside(self, call: str) -> Calls:
        """The same with ids as they are outside the step that calls the workflow; what is too much to name is cut."""
        each = {tuple(f"{call}/{fan}" for fan in fans): count for fans, count in list(self.each.items())[:TERMS]}
        lists = (self.unseen, self.uncounted, self.capped)
        unseen, uncounted, capped = (tuple(f"{call}/{step}" for step in ids[:TERMS]) for ids in lists)
        return Calls(self.most, each, unseen, uncounted, self.models, capped)

    def __str__(self) -> str:
        terms = [(count, "".join(f" for each item of {fan}" for fan in fans)) for fans, count in self.each.items()]
        open_ones = [f"those of step {step}, known only when it runs" for step in self.uncounted[:TERMS]]
        if self.most or not (terms or open_ones):
            terms.insert(0, (self.most, ""))
        if terms:
            count, whose = terms[0]
            plural = "" if count == 1 else "s"
            what = f"call{plural} of agents and models" if self.models else f"agent call{plural}"
            words = [f"at most {count} {what}{whose}"]
        else:
            words = [f"agent calls: {open_ones.pop(0)}"]
        words += [f"{count}{whose}" for count, whose in terms[1:TERMS]]
        words += open_ones
        words += [f"those of the workflow that step {step} chooses" for step in self.unseen[:TERMS]]
        again = f", of up to {RETRY.attempts} requests each where a model fails" if self.models else ""
        return ", and ".join(words) + again


@dataclass(slots=True)
class _Counter:
    """Counts through workflows that call others; `known` has those counted already, by file."""

    find: FindCopy
    known: dict[Path, Calls] = field(default_factory=dict)

    def steps(self, steps: Iterable[Any], file: Path | None) -> Calls:
        """The bound for a list of steps in a file, tries and passes included."""
        return sum((self.step(step, file) for step in steps), Calls())

    def step(self, step: Any, file: Path | None) -> Calls:
        if hasattr(step, "most_calls"):
            models = step.agent_key is None
            most = step.most_calls
            capped = (step.id,) if getattr(step, "has_ceilings", False) else ()
            counted = Calls(uncounted=(step.id,)) if most is None else Calls(most)
            once = replace(counted, models=models, capped=capped)
        else:
            once = Calls(1) if step.type in AGENT_STEPS else self.held(step, file)
        return once.times(step.retry.attempts if step.retry else 1)

    def held(self, step: Any, file: Path | None) -> Calls:
        """The bound for one try of a step that holds others."""
        match step.type:
            case "if":
                return self.steps(step.then, file) | self.steps(step.else_ or (), file)
            case "switch":
                found = self.steps(step.default or (), file)
                for steps in step.cases.values():
                    found |= self.steps(steps, file)
                return found
            case "while" | "do-while":
                return self.steps(step.steps, file).times(step.max_iterations)
            case "parallel":
                return sum((self.steps(steps, file) for steps in step.branches.values()), Calls())
            case "fan-out":
                each = self.step(step.step, file)
                return each.times(len(step.items)) if isinstance(step.items, list) else each.for_each(step.id)
            case "workflow":
                return self.called(step, file)
            case _:
                return Calls()

    def called(self, step: Any, file: Path | None) -> Calls:
        workflow = self.find(step.workflow, file) if "{{" not in step.workflow else None
        if workflow is None or workflow.path is None:
            return Calls(unseen=(step.id,))
        if workflow.path not in self.known:
            self.known[workflow.path] = self.steps(workflow.steps, workflow.path)
        return self.known[workflow.path].inside(step.id)


def most_calls(workflow: Workflow, find: FindCopy) -> Calls:
    """The bound for a workflow and all that it calls."""
    return _Counter(find).steps(workflow.steps, workflow.path)


def announcement(workflow: Workflow, find: FindCopy, ceilings: Mapping[str, float], made: float = 0) -> str | None:
    """Announcement of paid calls before the first one; None where no agent is known to be called.

    Args:
        workflow: what is run.
        find: finds what it calls.
        ceilings: the budget, by kind.
        made: calls that were made in earlier sessions.
    """
    calls = most_calls(workflow, find)
    if not calls:
        return None
    earlier = f" ({made:g} made already)" if made else ""
    own = f"; ceilings of their own: {', '.join(calls.capped[:TERMS])}" if calls.capped else ""
    return costs.announcement(f"{calls}{earlier}{own}", ceilings)
