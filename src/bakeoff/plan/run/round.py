"""One round of a plan: its subplans side by side, each from the tip with what it waits for merged on top."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.engine.record import Record, Status
from bakeoff.engine.run import Run
from bakeoff.errors import BudgetSpentError
from bakeoff.plan.events import SubplanChanged
from bakeoff.plan.merge.chain import Change, Merger, Point, Step
from bakeoff.plan.run.findings import PlanFindings, State
from bakeoff.plan.run.interfaces import interfaces
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.prompts import prompt_of
from bakeoff.plan.run.subplan_attempts import PREFIX, StoppedError, SubplanAttempts
from bakeoff.plan.schedule.driver import carry_out
from bakeoff.plan.schedule.graph import Graph, Task, graph_of
from bakeoff.plan.schedule.scheduler import Scheduler
from bakeoff.workspace.blocking import in_thread


@dataclass(slots=True)
class Starts:
    """Starting points of subplans: the tip of a round with what they wait for merged on top. Blocks.

    Attributes:
        merger: merges.
        say: told in words what could not be merged.
    """

    merger: Merger
    say: Callable[[str], None]
    _steps: dict[tuple[str, str], Step] = field(default_factory=dict)
    _dates: dict[str, int] = field(default_factory=dict)

    def start(self, tip: Point, needed: Sequence[Change]) -> tuple[Point, tuple[str, ...]]:
        """The tip with these on top, in order, and the names of those that are in it.

        One that conflicts with those before it is left out, and that is said.
        """
        at, names = tip, []
        for change in needed:
            key = at.commit, change.commit
            if key not in self._steps:
                self._steps[key] = self.merger.step(at, change, self._date(change))
            step = self._steps[key]
            if step.point is None:
                paths = ", ".join(clash.path for clash in step.left[:5]) or "a lockfile"
                self.say(f"{change.name} is left out of what later subplans start from: it conflicts in {paths}")
                continue
            at = step.point
            names.append(change.name)
        return at, tuple(names)

    def _date(self, change: Change) -> int:
        if change.commit not in self._dates:
            self._dates[change.commit] = self.merger.point(change.commit).date
        return self._dates[change.commit]


@dataclass(slots=True)
class Round:
    """One round.

    Attributes:
        graph: what waits for what, of the whole plan.
        number: from 1.
        tip: what it starts from.
        told: of a subplan that is reopened, what went wrong with what it made before.
    """

    subplans: SubplanAttempts
    merger: Merger
    found: PlanFindings
    graph: Graph
    number: int
    tip: Point
    told: Mapping[str, str]
    say: Callable[[str], None]
    _made: dict[str, Change] = field(default_factory=dict)
    _stopped: StoppedError | None = None
    _starts: Starts = field(init=False)
    _tasks: Graph = field(init=False)
    _scheduler: Scheduler = field(init=False)

    def __post_init__(self) -> None:
        self._starts = Starts(self.merger, self.say)

    @property
    def plan(self) -> Plan:
        """The plan that is carried out."""
        return self.subplans.plan

    @property
    def run(self) -> Run:
        """The run that records it."""
        return self.subplans.run

    async def work(self, todo: Sequence[str]) -> dict[str, Change]:
        """Work on the subplans `todo`; what those made that ended well, by name.

        Passes on StoppedError: what one needed was not there. Nothing was begun after it, who was at work has ended,
        and nothing is merged without it: a resumed run makes it then.
        """
        config, run, graph = self.plan.config, self.run, self.graph
        inside = set(todo)
        tasks = [Task(name, tuple(graph.needs[name] & inside), graph.tasks[name].writes) for name in todo]
        self._tasks = graph_of(tasks)
        for name in todo:
            before = self.found.states[name]  # what it made before stays to be shown until it makes something else
            self.found.states[name] = State(round=self.number, commit=before.commit, start=before.start)
        # What an earlier session cancelled stays cancelled, whoever would come first now.
        halt = f"{self.subplans.of.prefix}halt:{self.subplans.of.changes}:{self.number}"
        ended = run.history.decisions.get(halt)
        scheduler = Scheduler(
            self._tasks,
            max_parallel=1 if config.execution_mode == "sequential" else config.max_parallel,
            fail_fast=config.fail_fast,
            ended=None if ended is None else {name: Status(status) for name, status in ended.items()},
        )
        self._scheduler = scheduler
        await carry_out(scheduler, self._one, self._changed)
        if self._stopped is not None:
            raise self._stopped
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
        return {name: change for name, change in self._made.items() if name in done}

    def _was_tried(self, name: str) -> bool:
        below = f"{self.subplans.of.prefix}{PREFIX}{name}:"
        return any(path.startswith(below) for path in self.run.history.records)

    def _ending(self, name: str) -> str:
        status = self._scheduler.status[self._scheduler.blocked_by[name]]
        return "failed" if status is Status.FAILED else f"is {status.value}"

    async def _one(self, name: str) -> Status:
        subplan = self.plan.find(name)
        if self.plan.config.execution_mode == "sequential":
            needed = [self._made[other] for other in self._tasks.tasks if other in self._made]
        else:
            above = self._tasks.above(name)
            needed = [self._made[other] for other in self._tasks.tasks if other in above and other in self._made]
        start, inside = await in_thread(self._starts.start, self.tip, needed)
        shown = await in_thread(interfaces, self.merger.git, start.tree, subplan.uses)
        prompt = prompt_of(self.plan, subplan, shown, self.told.get(name))
        try:
            record = await self.subplans.make(subplan, prompt, start, self.subplans.of.amended.salts.get(name, 0))
        except BudgetSpentError as failure:
            self.found.unpaid = str(failure)
            return Status.PENDING
        except StoppedError as failure:
            self._stopped = self._stopped or failure
            return Status.PENDING
        self._note(name, record)
        if record.status is Status.COMPLETED:
            self._made[name] = Change(name, str(record.output["commit"]), tested=True, needs=inside)
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
            self.say(f"{name} wrote outside of what it may: {', '.join(state.outside[:5])}")
        for said in state.left_out[:5]:
            self.say(f"left out of what {name} made: {said}")

    def _changed(self, name: str, status: Status) -> None:
        run, state = self.run, self.found.states[name]
        state.status = status
        run.events.emit(SubplanChanged(run.clock.wall(), name, status, state.why, self.number))
