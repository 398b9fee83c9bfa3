"""Findings of a plan: the state of each subplan, and what each round of merging found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bakeoff.engine.record import Status
from bakeoff.plan.queue.findings import Findings


@dataclass(slots=True)
class State:
    """State of a subplan.

    Attributes:
        status: of its work: pending, running, completed, failed, blocked, cancelled or skipped.
        landed: whether what it made is in the result.
        why: why it is not completed or not landed; empty where it is.
        round: the last round that it had a part in.
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
        """The same out of what `to_json` gave."""
        return cls(**{**kept, "status": Status(kept["status"])})


@dataclass(frozen=True, slots=True)
class Overlap:
    """Paths that a subplan wrote without having said so, where another wrote or may write.

    Attributes:
        paths: all of which the same holds.
        wrote: the subplans that wrote them, in plan order.
        may: those that had declared to, but for one that alone wrote them.
    """

    paths: tuple[str, ...]
    wrote: tuple[str, ...]
    may: tuple[str, ...]

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Overlap:
        """Overlap out of what `asdict` gave."""
        return cls(tuple(kept["paths"]), tuple(kept["wrote"]), tuple(kept["may"]))


@dataclass(slots=True)
class PlanFindings:
    """Findings of a whole plan.

    Attributes:
        base: the commit that the plan started from.
        tip: the commit that has all that landed, with its history.
        result: the same as one commit on top of `base`; None where nothing landed.
        states: of each subplan, in plan order.
        rounds: what the merge queue found, round by round.
        overlaps: where subplans met without having said that they write there.
        unpaid: why no further call could be paid; None where all were.
    """

    base: str
    tip: str
    result: str | None = None
    states: dict[str, State] = field(default_factory=dict)
    rounds: list[Findings] = field(default_factory=list)
    overlaps: list[Overlap] = field(default_factory=list)
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
            "overlaps": [asdict(one) for one in self.overlaps],
            "unpaid": self.unpaid,
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> PlanFindings:
        """The same out of what `to_json` gave."""
        return cls(
            kept["base"],
            kept["tip"],
            kept["result"],
            {name: State.from_json(state) for name, state in kept["states"].items()},
            [Findings.from_json(findings) for findings in kept["rounds"]],
            [Overlap.from_json(one) for one in kept["overlaps"] if isinstance(one, Mapping)],
            kept["unpaid"],
        )
