"""Context of a plan that is carried out: the plan with its changes, the agent, what stands before names of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.agent.entry import Entry
from bakeoff.engine.retry import Retry
from bakeoff.plan.run.changes import Amended
from bakeoff.plan.run.plan import Plan
from bakeoff.settings import Settings


@dataclass(frozen=True, slots=True)
class PlanContext:
    """Context that all parts of a plan's run share.

    Attributes:
        amended: what is to be done, with all changes made.
        reserve: what one call of it may use at most, by kind.
        retry: which failures of a call are tried again.
        prefix: the path that its nodes stand under, where a run holds more than these.
        label: what the names of results and log files begin with.
        lanes: lanes that every leaf holds besides.
        env: further variables for agents and checks.
    """

    amended: Amended
    settings: Settings
    entry: Entry
    reserve: Mapping[str, float]
    retry: Retry
    changes: int = 0
    prefix: str = ""
    label: str = ""
    lanes: tuple[str, ...] = ()
    env: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        """The plan that is carried out."""
        return self.amended.plan
