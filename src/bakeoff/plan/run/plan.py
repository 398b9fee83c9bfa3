"""Plan: a goal, subplans in plan order, and how they are to be carried out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bakeoff.options.option import restored
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.options import SubplanConfig
from bakeoff.plan.schedule.graph import Graph, Task, graph_of
from bakeoff.sampling.attempt.options import AttemptOptions

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""What names of subplans look like: they stand in paths, refs and file names."""


@dataclass(frozen=True, slots=True)
class Subplan:
    """One part of the work.

    Attributes:
        name: each once, and no group has it.
        goal: what is to be done there, besides the plan's goal.
        prompt: what the agent is told instead of what bakeoff makes up.
        files: its scope.
        writes: globs of what it may write; its files where none are given.
        after: subplans or groups that must have ended before.
        uses: files outside of it whose interfaces it is told.
    """

    name: str
    goal: str = ""
    prompt: str | None = None
    files: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    parent: str | None = None

    @property
    def declared(self) -> tuple[str, ...]:
        """Globs that it may write, as far as that is declared."""
        return self.writes or self.files


@dataclass(frozen=True, slots=True)
class Group:
    """Subplans that belong together; it does no work itself."""

    name: str
    goal: str = ""
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of all work at a goal.

    Attributes:
        subplans: in plan order: of two that do not go together the earlier one lands; none while it is not split.
        attempt: how each is attempted: agent, checks, repairs, budget of the whole.
        groups: the hierarchy over the subplans, parents first.

    Raises:
        PlanError: a name cannot be used.
    """

    goal: str
    subplans: tuple[Subplan, ...]
    attempt: AttemptOptions
    config: SubplanConfig = field(default_factory=SubplanConfig)
    groups: tuple[Group, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        parts: list[Group | Subplan] = [*self.groups, *self.subplans]
        for part in parts:
            if not NAME.fullmatch(part.name):
                raise PlanError(
                    f"{part.name!r} cannot be the name of a subplan: take letters, digits, `.`, `_` and `-`, at most 80"
                )
            if part.name in seen:
                raise PlanError(f"there are two subplans called {part.name!r}")
            seen.add(part.name)

    def find(self, name: str) -> Subplan:
        """The subplan of that name.

        Raises:
            PlanError: there is none.
        """
        for subplan in self.subplans:
            if subplan.name == name:
                return subplan
        known = ", ".join(subplan.name for subplan in self.subplans[:20]) or "none, for it is not split yet"
        raise PlanError(f"there is no subplan {name!r}; there are: {known}{', ...' * (len(self.subplans) > 20)}")

    def members(self) -> dict[str, list[str]]:
        """Of each group, the subplans in it and in groups below it."""
        parents = {group.name: group.parent for group in self.groups}
        found: dict[str, list[str]] = {name: [] for name in parents}
        for subplan in self.subplans:
            above = subplan.parent
            while above is not None:
                found[above].append(subplan.name)
                above = parents[above]
        return found

    def tasks(self) -> Iterator[Task]:
        """The subplans with what they wait for, groups resolved."""
        members = self.members()
        for subplan in self.subplans:
            needs = [name for other in subplan.after for name in members.get(other, [other])]
            yield Task(subplan.name, tuple(dict.fromkeys(needs)), subplan.declared)

    def graph(self) -> Graph:
        """Graph of what waits for what; nothing does in the mode `parallel`.

        Passes on ScheduleError: a name is unknown, or waits for itself, whatever the mode.
        """
        tasks = list(self.tasks())
        found = graph_of(tasks)
        if self.config.execution_mode == "parallel":
            return graph_of([replace(task, needs=()) for task in tasks])
        return found

    def tree(self) -> tuple[tuple[int, str, bool], ...]:
        """Groups and subplans as a tree, in plan order: depth, name, and whether it is a subplan."""
        groups = {group.name: group for group in self.groups}
        rows: list[tuple[int, str, bool]] = []
        shown: set[str] = set()
        for subplan in self.subplans:
            above: list[str] = []
            parent = subplan.parent
            while parent is not None:
                above.insert(0, parent)
                parent = groups[parent].parent
            rows += [(depth, name, False) for depth, name in enumerate(above) if name not in shown]
            shown.update(above)
            rows.append((len(above), subplan.name, True))
        return tuple(rows)

    @property
    def most_calls(self) -> int:
        """Calls of the agent at most, those that its model turns away apart."""
        tries = len(self.subplans) * self.attempt.most_calls * (1 + self.config.max_retries)
        return tries * (1 + self.config.max_reopened)

    def to_json(self) -> dict[str, Any]:
        """As a run keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Plan:
        """Plan out of what `to_json` gave; what a later version added has its default."""
        return cls(
            kept["goal"],
            tuple(restored(Subplan, one) for one in kept["subplans"]),
            AttemptOptions.from_json(kept["attempt"]),
            SubplanConfig.from_json(kept["config"]),
            tuple(restored(Group, one) for one in kept["groups"]),
        )
