"""The plan job: starts a run, takes one up again, changes one that has ended."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.engine.lanes import LEAVES
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending
from bakeoff.engine.sharing import sharing
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.jobs.session import (
    Prepare,
    RunOptions,
    SessionOptions,
    check_protection,
    in_session,
    new_run,
    note_inputs,
    resumable,
    settle_snapshot,
    snapshot_of,
)
from bakeoff.judge.checks.command import LANE as TESTS
from bakeoff.plan.events import PlanSaid
from bakeoff.plan.run.changes import Change, change_name, changes_of
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.view import DECIDED, JOB_NAME, kept_plan, split_facts
from bakeoff.plan.run.work import PlanWork, agent_of
from bakeoff.process.spawner import Spawner
from bakeoff.sampling.attempt.attempts import AGENTS
from bakeoff.sampling.attempt.checkpoint import pending_commits
from bakeoff.sampling.attempt.given import check_base
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.preflight import Preflight, PreflightError
from bakeoff.sampling.attempt.session import AGENT_MEMORY
from bakeoff.settings import Settings, load_settings
from bakeoff.system.machine import cpu_allowance, memory_available
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.repository.cache import check_roots
from bakeoff.workspace.shared_workspaces import Workspaces
from bakeoff.workspace.workspace import Workspace

if TYPE_CHECKING:
    from bakeoff.plan.run.split.question import Question
    from bakeoff.plan.run.split.splitting import Split, Splitting


async def start(
    store: RunStore, plan: Plan, run_options: RunOptions, run_id: str | None = None, split: Split | None = None
) -> tuple[RunFolder, Ending]:
    """Carry it out as a new run. Nothing is left behind when it cannot begin.

    With `split` the plan has no subplans yet: they are what is proposed, in this run.

    Passes on BakeoffError: the plan, the settings, the agent or the run id are wrong.
    """
    settings = load_settings(store.project)
    plan = replace(plan, attempt=plan.attempt.settled(settings))
    job = _Job(store.project, plan, [], settings, run_options, split)
    await job.check_sandbox()
    if plan.attempt.base is not None:
        check_base(store.project, plan.attempt.base)
    if split is not None:
        job.question = await in_thread(split.question, store.project, settings, plan.goal)
    kept = {"plan": plan.to_json(), **({} if split is None else {"split": split.to_json()})}
    check_roots()
    folder, meta = new_run(store, run_id, JOB_NAME, plan.goal.strip().splitlines()[0], **kept)
    return folder, await job.run(folder, meta)


async def resume(
    store: RunStore, run_id: str, inputs: Mapping[str, Any], run_options: RunOptions, change: Change | None = None
) -> tuple[RunFolder, Ending]:
    """Go on with a run, with a change or without: what has ended is not made again unless the change asks for it.

    Passes on BakeoffError: the run is no plan, cannot be resumed, or an input or the change is wrong.
    """
    folder, history = resumable(
        store, run_id, JOB_NAME, "not a run of a plan", ended=change is not None, hint=", but see `bakeoff plan retry`"
    )
    settings = load_settings(store.project)
    plan, facts = kept_plan(history), split_facts(history)
    split = None
    if "split" in history.meta and facts is None:
        from bakeoff.plan.run.split.splitting import Split

        split = Split.from_json(history.meta["split"])
    options = AttemptOptions.from_json({**plan.attempt.to_json(), **history.inputs}).with_inputs(inputs)
    plan = replace(plan, attempt=options.settled(settings))
    if change is not None:
        plan.find(change.subplan)
    changes = [*changes_of(history), *([] if change is None else [change])]
    spent = 0.0 if facts is None else facts["usd"] or 0.0
    job = _Job(store.project, plan, changes, settings, run_options, split, spent)
    await job.check_sandbox()

    async def prepare(run: Run) -> None:
        await note_inputs(run, inputs, options)
        if change is not None:
            await run.decide(change_name(len(changes)), change.to_json)

    return folder, await job.run(folder, None, prepare)


class _Job:
    """One session.

    Raises:
        BakeoffError: the agent is unknown or not there, or cannot work under the budget; the plan is wrong.
    """

    def __init__(
        self,
        project: Path,
        plan: Plan,
        changes: list[Change],
        settings: Settings,
        run_options: RunOptions,
        split: Split | None,
        spent: float = 0.0,
    ) -> None:
        self.project, self.settings, self.run_options, self.changes = project, settings, run_options, changes
        if run_options.max_parallel is not None:
            plan = replace(plan, config=replace(plan.config, max_parallel=run_options.max_parallel))
        self.plan, self.split = plan, split
        self.question: Question | None = None
        self.splitting: Splitting | None = None
        if split is None:
            self.work = self._work(plan, spent)
        else:
            from bakeoff.plan.run.split.splitting import (
                Splitting,  # only plans that are split here wait for its imports
            )

            agent_of(plan.attempt, settings, str(project), 1)  # who is to work afterwards is there, too
            self.splitting = Splitting.of(split, plan.attempt, settings, str(project))
        self.lanes = self._lanes()

    def _work(self, plan: Plan, spent: float) -> PlanWork:
        work = PlanWork.of(plan, self.settings, str(self.project), self.changes, spent)
        self.plan = work.plan
        return work

    def _lanes(self) -> dict[str, int]:
        wanted = self.plan.config.max_parallel * self.plan.attempt.attempts
        if self.plan.config.execution_mode == "sequential":
            wanted = self.plan.attempt.attempts
        agents, why = min(wanted, self.settings.max_parallel), "the setting max_parallel"
        memory = memory_available()
        if AGENTS in self.settings.lanes:
            agents, why = self.settings.lanes[AGENTS], "the setting lanes.agents"
        elif memory is not None and memory < agents * AGENT_MEMORY:
            agents, why = max(1, memory // AGENT_MEMORY), f"{memory >> 20} MiB of memory are available"
        if agents < wanted:
            self.run_options.warn(f"at most {agents} agents work at once, and not {wanted}: {why}")
        return {TESTS: cpu_allowance(), **self.settings.lanes, AGENTS: agents, LEAVES: self.settings.max_parallel}

    async def check_sandbox(self) -> None:
        """See `check_protection`."""
        await check_protection(self.settings, self.plan.attempt.sandbox, self.plan.attempt.agent_sandbox)

    async def run(self, folder: RunFolder, meta: Mapping[str, Any] | None, prepare: Prepare | None = None) -> Ending:
        """The session, to its end."""
        session = SessionOptions(self.lanes, self.plan.attempt.ceilings)
        return await in_session(folder, self.carry_out, self.run_options, session, meta=meta, prepare=prepare)

    async def carry_out(self, run: Run, folder: RunFolder, spawner: Spawner) -> Ending:
        """Have the goal split where it is not, have all subplans made and merged, and say how it ended."""
        try:
            return await self._carry_out(run, folder, spawner)
        except PreflightError as failure:
            return Ending(RunStatus.FAILED, str(failure), {"refused": True})

    async def _carry_out(self, run: Run, folder: RunFolder, spawner: Spawner) -> Ending:
        if self.splitting is None:
            self.run_options.warn(self.work.announcement())
        # Whoever holds a slot holds its lanes already, so nobody waits there for more than a slot to be made.
        slots = min(self.lanes[AGENTS] + self.lanes[TESTS], self.lanes[LEAVES])
        async with sharing() as shared:
            warn = self.run_options.warn
            workspaces = Workspaces(
                shared, self.project, self.settings, folder.id, slots, spawner, warn, pending_commits(run.history)
            )
            async with workspaces.using(self.plan.attempt.base, snapshot_of(run.history)) as workspace:
                await settle_snapshot(run, workspace, self.run_options, "subplans")
                tried = None
                if self.splitting is not None:
                    how = (self.settings, run, workspace, spawner, warn)
                    tried = await Preflight.of(self.plan.attempt, *how).carry_out()
                    self.work = self._work(*await self._split(self.splitting, run, workspace, spawner))
                    warn(self.work.announcement())
                found = await self.work.carry_out(run, workspace, workspaces, spawner, tried=tried)
                facts = {"plan": found.to_json(), "salvaged": list(workspace.salvaged)}
        if found.unpaid is not None:
            return Ending(RunStatus.BUDGET_SPENT, found.unpaid, facts)
        return Ending(RunStatus.COMPLETED, None, facts)

    async def _split(
        self, splitting: Splitting, run: Run, workspace: Workspace, spawner: Spawner
    ) -> tuple[Plan, float]:
        """The plan with the subplans that are proposed, on record before any is begun; and what that cost, in USD."""
        from bakeoff.plan.run.from_hierarchy import plan_of_hierarchy
        from bakeoff.plan.run.split.splitting import split_lines

        plan = self.plan
        self.run_options.warn(splitting.split.announcement(plan.attempt.ceilings))
        question = self.question
        if question is None:
            question = await in_thread(splitting.split.question, self.project, self.settings, plan.goal)

        def say(text: str) -> None:
            run.events.emit(PlanSaid(run.clock.wall(), text))

        proposal = await splitting.ask(question, run, lambda: nullcontext((workspace, spawner)), say)
        made = plan_of_hierarchy(
            proposal.hierarchy, plan.goal, plan.attempt, plan.config, question.imports, proposal.named
        )
        facts = {**splitting.split.facts, **proposal.used}
        await run.decide(DECIDED, lambda: {"plan": made.to_json(), **facts})
        for line in split_lines(made, facts):
            say(line)
        return made, proposal.usd or 0.0
