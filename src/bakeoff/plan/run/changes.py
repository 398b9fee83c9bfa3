"""Changes of a plan that runs or has run: a subplan retried, skipped, or corrected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bakeoff.engine.history import History
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.plan import Plan

RETRY, SKIP, CORRECT = "retry", "skip", "correct"


@dataclass(frozen=True, slots=True)
class Change:
    """Change that a person made.

    Attributes:
        do: `retry`, `skip` or `correct`.
        prompt: what it is told from now on, where it is corrected.
    """

    do: str
    subplan: str
    prompt: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As a run keeps it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Amended:
    """A plan with all changes made.

    Attributes:
        plan: with the corrected prompts.
        skipped: who is left out; what waits for them goes on without.
        salts: how often each was to be tried again.
    """

    plan: Plan
    skipped: frozenset[str] = frozenset()
    salts: Mapping[str, int] = field(default_factory=dict)


def amended(plan: Plan, changes: Sequence[Change]) -> Amended:
    """The plan as the changes make it; a later change of the same subplan supersedes an earlier one.

    Raises:
        PlanError: a subplan is unknown, or a new prompt is empty.
    """
    prompts: dict[str, str] = {}
    skipped: set[str] = set()
    salts: Counter[str] = Counter()
    for change in changes:
        plan.find(change.subplan)
        skipped.discard(change.subplan)
        if change.do == SKIP:
            skipped.add(change.subplan)
        elif change.do == RETRY:
            salts[change.subplan] += 1
        elif change.prompt is None or not change.prompt.strip():
            raise PlanError(f"the new prompt of {change.subplan} is empty: say what it is to do")
        else:
            prompts[change.subplan] = change.prompt
    subplans = tuple(
        replace(subplan, prompt=prompts[subplan.name]) if subplan.name in prompts else subplan
        for subplan in plan.subplans
    )
    return Amended(replace(plan, subplans=subplans), frozenset(skipped), dict(salts))


def change_name(number: int) -> str:
    """Name of the decision that the nth change stands in, from 1."""
    return f"change:{number}"


def changes_of(history: History) -> list[Change]:
    """All that were made of a run, in order."""
    found: list[Change] = []
    while (kept := history.decisions.get(change_name(len(found) + 1))) is not None:
        found.append(Change(**kept))
    return found
