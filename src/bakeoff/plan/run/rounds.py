"""A plan from its start to its result: rounds of working and merging, until nothing is left to be given back.

All of it is a function of the plan, its changes and what is on the run's record: a resumed run comes to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from bakeoff.engine.record import Record, Status
from bakeoff.engine.run import Run
from bakeoff.errors import BudgetSpentError
from bakeoff.judge.check_runner import CheckRunner
from bakeoff.judge.verdict import ValidationResult
from bakeoff.plan.merge.chain import Change, Merger, Point
from bakeoff.plan.queue.events import QueueSaid
from bakeoff.plan.queue.findings import Findings
from bakeoff.plan.queue.queue import MergeQueue
from bakeoff.plan.queue.reopening import Reopening, reopenings
from bakeoff.plan.queue.verification import UNRUNNABLE, Verification
from bakeoff.plan.run.events import PlanBegun, PlanSaid, SubplanChanged
from bakeoff.plan.run.findings import Overlap, PlanFindings, State
from bakeoff.plan.run.interfaces import interfaces
from bakeoff.plan.run.leaves import PREFIX, Leaves, StoppedError
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.prompts import prompt_of
from bakeoff.plan.run.starting import Starts
from bakeoff.plan.schedule.driver import carry_out
from bakeoff.plan.schedule.graph import Graph, Task, graph_of
from bakeoff.plan.schedule.scheduler import Scheduler
from bakeoff.plan.schedule.writes import matches
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.repository.repository import Repository

if TYPE_CHECKING:
    from bakeoff.plan.run.work import PlanWork


@dataclass(slots=True)
class Rounds:
    """Carries out a plan.

    Attributes:
        of: the plan, and how it is carried out.
        run: where all is recorded.
        leaves: makes subplans.
        merger: merges what they made.
        ground: where the checks of the merge queue run.
        repository: where all is kept.
        told: told in words what goes on; events of the run, where it is None.
        known: what checks are known to say of the tree that the plan starts from.
    """

    of: PlanWork
    run: Run
    leaves: Leaves
    merger: Merger
    ground: CheckRunner
    repository: Repository
    told: Callable[[str], None] | None = None
    known: Mapping[int, ValidationResult] = field(default_factory=dict)
    found: PlanFindings = field(init=False)
    graph: Graph = field(init=False)

    @property
    def plan(self) -> Plan:
        """What is carried out."""
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
            made = await _Round(self, number, tip, told).work(todo)
            changes = [made[name] for name in todo if name in made]
            findings = await self._land(number, tip, changes)
            self.found.rounds.append(findings)
            self._note(findings, made)
            if findings.tip != tip.commit:
                tip = await in_thread(self.merger.point, findings.tip)
            again = await self._given_back(findings, changes)
            if not again or self.found.unpaid is not None or number > self.plan.config.max_reopened:
                break
            told = {one.change.name: one.prompt for one in again}
            todo = self._with_waiting(told)
            self.say(f"round {number + 1}: {', '.join(told)} on the new tip")
        self.found.tip = tip.commit
        self._note_overlaps()
        return self.found

    async def _land(self, number: int, tip: Point, changes: list[Change]) -> Findings:
        if not changes:
            return Findings(tip.commit, tip.commit)
        options = self.plan.attempt
        verification = Verification(
            self.run,
            self.ground,
            tip.tree,
            options.checks,
            options.check_timeout,
            prefix=f"{self.of.prefix}round:{number}/",
            lanes=self.of.lanes,
            known=dict(self.known) if tip.commit == self.found.base else {},
        )
        self.say(f"merging {len(changes)} of {len(self.found.wanted)} subplans")
        return await MergeQueue(
            self.merger, verification, self.ground, tip, self.of.settings.merge.width, self.queue_said
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

    async def _given_back(self, findings: Findings, made: Sequence[Change]) -> list[Reopening]:
        """What its owner is to do again."""
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
        """Where subplans wrote, without having said so, what others wrote or had declared to."""
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


class _Round:
    """The work of one round."""

    def __init__(self, rounds: Rounds, number: int, tip: Point, told: Mapping[str, str]) -> None:
        self.rounds, self.number, self.tip, self.told = rounds, number, tip, told
        self.plan, self.found = rounds.plan, rounds.found
        self.starts = Starts(rounds.merger, rounds.say)
        self.made: dict[str, Change] = {}
        self.stopped: StoppedError | None = None
        self.subplans = {subplan.name: subplan for subplan in self.plan.subplans}

    async def work(self, todo: Sequence[str]) -> dict[str, Change]:
        """What those of `todo` made that ended well, by name.

        Passes on StoppedError: what one needed was not there. Nothing was begun after it, who was at work has ended,
        and nothing is merged without it: a resumed run makes it then.
        """
        config, run, graph = self.plan.config, self.rounds.run, self.rounds.graph
        inside = set(todo)
        tasks = [Task(name, tuple(graph.needs[name] & inside), graph.tasks[name].writes) for name in todo]
        self.graph = graph_of(tasks)
        for name in todo:
            before = self.found.states[name]  # what it made before stays to be shown until it makes something else
            self.found.states[name] = State(round=self.number, commit=before.commit, start=before.start)
        # What an earlier session cancelled stays cancelled, whoever would come first now.
        halt = f"{self.rounds.of.prefix}halt:{self.rounds.of.changes}:{self.number}"
        ended = run.history.decisions.get(halt)
        scheduler = Scheduler(
            self.graph,
            max_parallel=1 if config.execution_mode == "sequential" else config.max_parallel,
            fail_fast=config.fail_fast,
            ended=None if ended is None else {name: Status(status) for name, status in ended.items()},
        )
        self.scheduler = scheduler
        await carry_out(scheduler, self._one, self._changed)
        if self.stopped is not None:
            raise self.stopped
        if scheduler.doomed and ended is None:
            left_out = {name: s.value for name, s in scheduler.status.items() if s is Status.CANCELLED}
            await run.decide(halt, lambda: left_out)
        for name, status in scheduler.status.items():
            state = self.found.states[name]
            state.status = status
            if status is Status.BLOCKED:
                state.why = f"it waits for {scheduler.blocked_by[name]}, which {self._ending(name)}"
                state.kind = "blocked"
            elif status is Status.CANCELLED:
                state.why, state.kind = "another failed, and the plan stops then", "cancelled"
            elif status is Status.PENDING:
                begun = "not ended, though tried" if self._was_tried(name) else "not begun"
                state.why, state.kind = f"{begun}: {self.found.unpaid or 'the plan stopped'}", "budget"
        done = {name for name, status in scheduler.status.items() if status is Status.COMPLETED}
        return {name: change for name, change in self.made.items() if name in done}

    def _was_tried(self, name: str) -> bool:
        below = f"{self.rounds.of.prefix}{PREFIX}{name}:"
        return any(path.startswith(below) for path in self.rounds.run.history.records)

    def _ending(self, name: str) -> str:
        status = self.scheduler.status[self.scheduler.blocked_by[name]]
        return "failed" if status is Status.FAILED else f"is {status.value}"

    async def _one(self, name: str) -> Status:
        subplan = self.subplans[name]
        if self.plan.config.execution_mode == "sequential":
            needed = [self.made[other] for other in self.graph.tasks if other in self.made]
        else:
            above = self.graph.above(name)
            needed = [self.made[other] for other in self.graph.tasks if other in above and other in self.made]
        start, inside = await in_thread(self.starts.start, self.tip, needed)
        shown = await in_thread(interfaces, self.rounds.merger.git, start.tree, subplan.uses)
        prompt = prompt_of(self.plan, subplan, shown, self.told.get(name))
        try:
            record = await self.rounds.leaves.make(subplan, prompt, start, self.rounds.of.amended.salts.get(name, 0))
        except BudgetSpentError as failure:
            self.found.unpaid = str(failure)
            return Status.PENDING
        except StoppedError as failure:
            self.stopped = self.stopped or failure
            return Status.PENDING
        self._note(name, record)
        if record.status is Status.COMPLETED:
            self.made[name] = Change(name, str(record.output["commit"]), tested=True, needs=inside)
        return record.status

    def _note(self, name: str, record: Record) -> None:
        output = record.output
        state = self.found.states[name]
        state.status, state.why, state.kind = record.status, record.error or "", record.kind
        state.tries = output.get("tries", 0)
        if output.get("commit") is not None:
            state.commit, state.start = output["commit"], output.get("start")
        for field_ in ("wrote", "outside", "tests_changed", "left_out"):
            setattr(state, field_, list(output.get(field_, ())))
        if state.outside:
            self.rounds.say(f"{name} wrote outside of what it may: {', '.join(state.outside[:5])}")
        for said in state.left_out[:5]:
            self.rounds.say(f"left out of what {name} made: {said}")

    def _changed(self, name: str, status: Status) -> None:
        run, state = self.rounds.run, self.found.states[name]
        state.status = status
        run.events.emit(SubplanChanged(run.clock.wall(), name, status, state.why, self.number))
