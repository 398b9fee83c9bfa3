"""Events of plans and of merge queues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.engine.events import JobEvent
from bakeoff.engine.record import Status


@dataclass(slots=True)
class SubplanChanged(JobEvent):
    """Start or end of a subplan.

    Attributes:
        why: what it waits for, or what went wrong, in words.
        round: 1, and one more each time that something was given back.
    """

    name: str = ""
    status: Status = Status.PENDING
    why: str = ""
    round: int = 1


@dataclass(slots=True)
class PlanBegun(JobEvent):
    """Begin of a plan, with all that is to be done.

    Attributes:
        tree: groups and subplans as a tree: depth, name, and whether it is a subplan.
        needs: of each subplan, what it waits for.
    """

    tree: tuple[tuple[int, str, bool], ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class PlanSaid(JobEvent):
    """Progress of the plan as a whole, in words."""

    text: str = ""


@dataclass(slots=True)
class QueueSaid(JobEvent):
    """Progress of a merge queue, in words: a conflict that was predicted, or why something is tested."""

    text: str = ""
