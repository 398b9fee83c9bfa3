"""Execution of a plan: rounds of working and merging, until nothing is left to be reopened.

All of it is a function of the plan, its changes and what is on the run's record: a resumed run comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from bakeoff.engine.record import Status
from bakeoff.engine.run import Run
from bakeoff.judge.checks.check_runner import CheckRunner
from bakeoff.judge.verdict import ValidationResult
from bakeoff.plan.events import PlanBegun, PlanSaid, QueueSaid
from bakeoff.plan.merge.chain import Change, Merger, Point
from bakeoff.plan.queue.feedback import Reopening, reopenings
from bakeoff.plan.queue.findings import Findings
from bakeoff.plan.queue.queue import MergeQueue
from bakeoff.plan.queue.verification import UNRUNNABLE, Verification
from bakeoff.plan.run.context import PlanContext
from bakeoff.plan.run.findings import Overlap, PlanFindings, State
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.round import Round
from bakeoff.plan.run.subplan_attempts import SubplanAttempts
from bakeoff.plan.schedule.graph import Graph
from bakeoff.plan.schedule.writes import matches
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.repository.repository import Repository


@dataclass(slots=True)
class Execution:
    """A plan from its start to its result.

    Attributes:
        told: told in words what goes on; events of the run, where it is None.
        known: what checks are known to say of the tree that the plan starts from.
    """

    of: PlanContext
    run: Run
    subplans: SubplanAttempts
    merger: Merger
    runner: CheckRunner
    repository: Repository
    told: Callable[[str], None] | None = None
    known: Mapping[int, ValidationResult] = field(default_factory=dict)
    found: PlanFindings = field(init=False)
    graph: Graph = field(init=False)

    @property
    def plan(self) -> Plan:
        """The plan that is carried out."""
        return self.of.plan

    async def carry_out(self, base: str) -> PlanFindings:
        """Do it, from the commit `base` on; nothing of the user's moves.

        Cancelled, what has ended stays on the run's record. Where the budget is spent, what is there is merged.

        Passes on ScheduleError: a subplan waits for what there is not. BakeoffError: a check or a subplan could not be
        run.
        """
        self.graph = self.plan.graph()
        self.found = PlanFindings(base, base, states={subplan.name: State() for subplan in self.plan.subplans})
        needs = {name: tuple(sorted(others)) for name, others in self.graph.needs.items()}
        self.run.events.emit(PlanBegun(self.run.clock.wall(), self.plan.tree(), needs))
        for circle in self.graph.groups:
            self.say(f"these wait for each other in a circle, so they run side by side: {', '.join(circle)}")
        for name in self.of.amended.skipped:
            self.found.states[name] = State(Status.SKIPPED, why="it was to be left out")
        todo = [name for name in self.graph.tasks if name not in self.of.amended.skipped]
        tip = await in_thread(self.merger.point, base)
        told: dict[str, str] = {}
        for number in count(1):
            made = await self._round(number, tip, told).work(todo)
            changes = [made[name] for name in todo if name in made]
            findings = await self._land(number, tip, changes)
            self.found.rounds.append(findings)
            self._note(findings, made)
            if findings.tip != tip.commit:
                tip = await in_thread(self.merger.point, findings.tip)
            again = await self._reopened(findings, changes)
            if not again or self.found.unpaid is not None or number > self.plan.config.max_reopened:
                break
            told = {one.change.name: one.prompt for one in again}
            todo = self._with_waiting(told)
            self.say(f"round {number + 1}: {', '.join(told)} on the new tip")
        self.found.tip = tip.commit
        self._note_overlaps()
        return self.found

    def _round(self, number: int, tip: Point, told: Mapping[str, str]) -> Round:
        return Round(self.subplans, self.merger, self.found, self.graph, number, tip, told, self.say)

    async def _land(self, number: int, tip: Point, changes: list[Change]) -> Findings:
        if not changes:
            return Findings(tip.commit, tip.commit)
        options = self.plan.attempt
        verification = Verification(
            self.run,
            self.runner,
            tip.tree,
            options.checks,
            options.check_timeout,
            prefix=f"{self.of.prefix}round:{number}/",
            lanes=self.of.lanes,
            known=dict(self.known) if tip.commit == self.found.base else {},
        )
        self.say(f"merging {len(changes)} of {len(self.found.wanted)} subplans")
        return await MergeQueue(
            self.merger, verification, self.runner, tip, self.of.settings.merge.width, self.queue_said
        ).land(changes)

    def _note(self, findings: Findings, made: Mapping[str, Change]) -> None:
        """Put what became of each into its state."""
        culprits = {one.ref: one for one in findings.culprits}
        conflicts = {one.ref: one for one in findings.conflicts}
        unclear = {one.ref: one for one in findings.preexisting if not one.landed}
        for name in made:
            state = self.found.states[name]
            state.landed = name in findings.landed
            if state.landed:
                state.why = ""
            elif name in culprits:
                with_ = "" if culprits[name].other is None else f"with {culprits[name].other} "
                state.why, state.kind = f"{with_}fails {culprits[name].test}", "culprit"
            elif name in conflicts:
                state.why = conflicts[name].said
                state.kind = "conflict"
            elif name in unclear:
                state.why, state.kind = "fails, and the base does too: nobody can tell whose fault it is", "unclear"
                if (said := unclear[name].reason.partition("\n")[0]).startswith(UNRUNNABLE):
                    state.why = f"{', '.join(unclear[name].tests)}: {said}"
            elif self.plan.config.strategy == "fail_on_conflict" and findings.conflicts:
                state.why, state.kind = "nothing lands, because others conflict", "conflict"
            else:
                missing = [other for other in made[name].needs if other not in findings.landed]
                state.why = f"it builds on {', '.join(missing)}, which did not land"
                state.kind = "blocked"

    async def _reopened(self, findings: Findings, made: Sequence[Change]) -> list[Reopening]:
        """Changes that their owners are to make again."""
        found = await in_thread(reopenings, self.repository, findings, made)
        if self.plan.config.on_conflict == "reopen":
            return found
        culprits = {one.ref for one in findings.culprits}
        return [one for one in found if one.change.name in culprits]

    def _with_waiting(self, told: Mapping[str, str]) -> list[str]:
        """Those that are given back, and those that were made but could not land without them."""
        again = set(told)
        there = {name for name, state in self.found.states.items() if state.landed or state.status is Status.SKIPPED}
        for name in self.graph.tasks:
            needs = self.graph.needs[name]
            # One that waits for another that failed stays blocked, whatever else it waits for.
            if self.found.states[name].kind == "blocked" and needs & again and needs <= there | again:
                again.add(name)
        return [name for name in self.graph.tasks if name in again]

    def _note_overlaps(self) -> None:
        """Note where subplans wrote undeclared what others wrote or had declared to."""
        states = self.found.states
        strayed = dict.fromkeys(path for state in states.values() for path in state.outside)
        wrote: dict[str, list[str]] = {path: [] for path in strayed}
        for name, state in states.items():
            for path in state.wrote:
                if path in wrote:
                    wrote[path].append(name)
        met: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for path, names in wrote.items():
            may = tuple(one.name for one in self.plan.subplans if matches(one.declared, path))
            if len(names) > 1 or set(may) - set(names):
                met.setdefault((tuple(names), may), []).append(path)
        self.found.overlaps += [Overlap(tuple(paths), *whose) for whose, paths in met.items()]

    def say(self, text: str) -> None:
        """Tell what goes on with the whole."""
        if self.told is not None:
            self.told(text)
        else:
            self.run.events.emit(PlanSaid(self.run.clock.wall(), text))

    def queue_said(self, text: str) -> None:
        """The same of the merge queue."""
        if self.told is None:
            self.run.events.emit(QueueSaid(self.run.clock.wall(), text))
