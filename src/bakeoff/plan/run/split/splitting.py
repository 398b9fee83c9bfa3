"""Splitting of a goal by an agent or a model, inside of a run that is open: asked once, counted in its budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.agent.entry import Entry
from bakeoff.api.durable import DurableRun
from bakeoff.engine.events import NodeStarted
from bakeoff.engine.record import Record, Status
from bakeoff.engine.run import Run
from bakeoff.jobs.costs import announcement
from bakeoff.model.registry import UnknownModelError, missing, model_for
from bakeoff.model.retrying import RETRY
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.from_hierarchy import files_of
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.split.by_agent import SplittingAgent
from bakeoff.plan.run.split.by_model import ModelQuestion, ask_model
from bakeoff.plan.run.split.question import TRIES, Proposal, Question
from bakeoff.plan.run.work import agent_of
from bakeoff.process.command import Processes
from bakeoff.report.words import counted, known_amounts
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.session import TURNED_AWAY
from bakeoff.settings import Settings
from bakeoff.workspace.workspace import Workspace

Opening = Callable[[], AbstractAsyncContextManager[tuple[Workspace, Processes]]]

MOST_SHOWN = 50
"""Subplans that are listed before they are begun."""

AGENT, MODEL = "agent", "model"


@dataclass(frozen=True, slots=True)
class Split:
    """Request to have a goal split: by whom, and what of the project it is about.

    Attributes:
        by: `agent` or `model`.
        name: the agent's or the model's name.
        paths: files and folders, from the top of the project; all where there are none.
        untracked: files that git neither tracks nor ignores count, too.
        limits: what the settings of plans are replaced by.
    """

    by: str
    name: str
    paths: tuple[str, ...] = ()
    untracked: bool = False
    limits: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """As a run keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Split:
        """Request out of what `to_json` gave."""
        return cls(**{**kept, "paths": tuple(kept["paths"])})

    def announcement(self, ceilings: Mapping[str, float]) -> str:
        """Announcement of how many calls there may be; to be said before the first one."""
        return announcement(f"at most {TRIES} calls of {self.name} to split it", ceilings, late="")

    def question(self, project: Path, settings: Settings, goal: str) -> Question:
        """Question about the files as they are now. Blocks.

        Passes on DecomposeError and PlanError: there are no such files, or too many to be told of.
        """
        limited = replace(settings, plan=replace(settings.plan, **(self.limits or {})))
        files, imports = files_of(project, limited, self.paths, untracked=self.untracked)
        make = ModelQuestion if self.by == MODEL else Question
        return make(self.name, goal, files, imports, limited)

    @property
    def facts(self) -> dict[str, str]:
        """Agent or model by kind and name, for the record."""
        return {"by": self.by, "name": self.name}


@dataclass(frozen=True, slots=True)
class _Calls:
    """Log folder of an agent's calls, label of their logs, lanes besides their own, further variables."""

    logs: Path
    label: str
    lanes: tuple[str, ...]
    env: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Splitting:
    """Agent or model that splits a goal, ready to be asked.

    Attributes:
        options: how each subplan will be attempted; an agent is called as these say.
        entry: the agent; None for a model.
        reserve: what one call of the agent may use at most, by kind.
    """

    split: Split
    options: AttemptOptions
    settings: Settings
    entry: Entry | None = None
    reserve: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, split: Split, options: AttemptOptions, settings: Settings, project: str) -> Splitting:
        """Somebody who is there.

        Raises:
            UnknownModelError: there is no such model.

        Passes on BakeoffError: there is no such agent, or it cannot work under the budget.
        """
        if split.by == MODEL:
            if (why := missing(split.name, settings)) is not None:
                raise UnknownModelError(why)
            return cls(split, options, settings)
        entry, reserve = agent_of(options, settings, project, TRIES)
        return cls(split, options, settings, entry, reserve)

    async def ask(
        self,
        question: Question,
        run: Run,
        opening: Opening,
        say: Callable[[str], None],
        *,
        above: str = "",
        logs: Path | None = None,
        label: str = "",
        lanes: Sequence[str] = (),
        env: Mapping[str, str | None] | None = None,
    ) -> Proposal:
        """Have it say how; a node below `above` says what that took.

        What an earlier session of the run was answered is not asked for again, unless all of it was of no use: then it
        is asked anew. Cancelled, who was asked has ended before this returns.

        Args:
            question: what is asked.
            run: where calls are nodes and count.
            opening: opens the workspace that an agent looks around in, with what runs its processes.
            say: told in words what went wrong.
            above: path of the node above, with a slash at its end.
            logs: folder for transcripts; the run's if left out.
            label: what their names begin with.
            lanes: lanes that each call holds besides its own.
            env: further variables for an agent.

        Raises:
            PlanError: nothing can be used.

        Passes on BudgetSpentError: there is a ceiling in the way.
        """
        path = f"{above}split:{question.id}"
        ended = run.history.records.get(path)
        done = ended is not None and ended.status is Status.COMPLETED
        number = 1 if ended is None else ended.attempts + (not done)
        place = path if number == 1 else f"{path}/again:{number}"
        began = run.clock.wall()
        run.events.emit(NodeStarted(began, path, "split"))
        node = partial(Record, path, "split", started_at=began, attempts=number)
        try:
            if self.entry is None:
                found = await self._ask_model(question, run, place, lanes, say)
            else:
                calls = _Calls(logs or run.root / "logs", label, tuple(lanes), env or {})
                found = await self._ask_agent(question, run, place, opening, say, calls)
        except PlanError as failure:
            await run.commit(node(Status.FAILED, error=str(failure), kind="error", ended_at=run.clock.wall()))
            raise
        if not done:
            await run.commit(node(Status.COMPLETED, found.used, ended_at=run.clock.wall()))
        return found

    async def _ask_agent(
        self, question: Question, run: Run, path: str, opening: Opening, say: Callable[[str], None], calls: _Calls
    ) -> Proposal:
        assert self.entry is not None
        async with opening() as (workspace, processes):
            agent = SplittingAgent(
                self.entry,
                question,
                self.options,
                workspace,
                processes,
                calls.logs,
                self.reserve,
                replace(TURNED_AWAY, attempts=1 + self.options.retries),
                calls.lanes,
                calls.env,
                calls.label,
                say,
            )
            return await agent.ask(DurableRun(run), path)

    async def _ask_model(
        self, question: Question, run: Run, path: str, lanes: Sequence[str], say: Callable[[str], None]
    ) -> Proposal:
        assert isinstance(question, ModelQuestion)
        async with model_for(question.name, question.settings, retry=RETRY) as model:
            return await ask_model(question, model, DurableRun(run), path=path, lanes=lanes, say=say)


def split_lines(plan: Plan, facts: Mapping[str, Any]) -> Iterator[str]:
    """Lines about a proposal for people: what it took, and a line for each subplan."""
    yield f"split by {facts['name']}: {known_amounts(facts)}; {counted(len(plan.subplans), 'subplan')}"
    for subplan in plan.subplans[:MOST_SHOWN]:
        goal = f": {subplan.goal}" if subplan.goal else ""
        names = ", ".join(subplan.files[:3]) + (", ..." if len(subplan.files) > 3 else "")
        yield f"  {subplan.name} ({counted(len(subplan.files), 'file')}: {names}){goal}"
    if len(plan.subplans) > MOST_SHOWN:
        yield f"  and {len(plan.subplans) - MOST_SHOWN} more"
