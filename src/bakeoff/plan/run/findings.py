"""What comes of a plan: how each subplan stands, and what each round of merging found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bakeoff.engine.record import Status
from bakeoff.plan.queue.findings import Findings


@dataclass(slots=True)
class State:
    """How a subplan stands.

    Attributes:
        status: of its work: pending, running, completed, failed, blocked, cancelled or skipped.
        landed: whether what it made is in the result.
        why: why it is not completed or not landed; empty where it is.
        kind: the sort of its failure.
        round: the last round that it had a part in.
        commit: what it made last.
        start: the commit that this started from.
        tries: of the last version of it.
        wrote: the paths that it changed.
        outside: those of them that it had not declared.
        tests_changed: tests that it changed, which is left out of what it made.
        left_out: further paths that it wrote and that are left out, each with the reason.
    """

    status: Status = Status.PENDING
    landed: bool = False
    why: str = ""
    kind: str | None = None
    round: int = 1
    commit: str | None = None
    start: str | None = None
    tries: int = 0
    wrote: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    tests_changed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As a run keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> State:
        """What `to_json` gave."""
        return cls(**{**kept, "status": Status(kept["status"])})


@dataclass(slots=True)
class PlanFindings:
    """All of it.

    Attributes:
        base: the commit that the plan started from.
        tip: the commit that has all that landed, with its history.
        result: the same as one commit on top of `base`; None where nothing landed.
        states: of each subplan, in plan order.
        rounds: what the merge queue found, round by round.
        overlaps: subplans that wrote, without having said so, where another wrote or may write: who, whose, the paths.
        unpaid: why no further call could be paid; None where all were.
    """

    base: str
    tip: str
    result: str | None = None
    states: dict[str, State] = field(default_factory=dict)
    rounds: list[Findings] = field(default_factory=list)
    overlaps: list[tuple[str, str, list[str]]] = field(default_factory=list)
    unpaid: str | None = None

    @property
    def landed(self) -> list[str]:
        """Whose work is in the result, in plan order."""
        return [name for name, state in self.states.items() if state.landed]

    @property
    def wanted(self) -> list[str]:
        """Whose work should be."""
        return [name for name, state in self.states.items() if state.status is not Status.SKIPPED]

    def to_json(self) -> dict[str, Any]:
        """As a run keeps it."""
        return {
            "base": self.base,
            "tip": self.tip,
            "result": self.result,
            "states": {name: state.to_json() for name, state in self.states.items()},
            "rounds": [findings.to_json() for findings in self.rounds],
            "overlaps": [list(one) for one in self.overlaps],
            "unpaid": self.unpaid,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> PlanFindings:
        """What `to_json` gave."""
        return cls(
            kept["base"],
            kept["tip"],
            kept["result"],
            {name: State.from_json(state) for name, state in kept["states"].items()},
            [Findings.from_json(findings) for findings in kept["rounds"]],
            [(one, other, list(paths)) for one, other, paths in kept["overlaps"]],
            kept["unpaid"],
        )
