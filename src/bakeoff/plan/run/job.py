"""The plan job: starts a run, takes one up again, changes one that has ended."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.errors import BakeoffError
from bakeoff.engine.events import Warned
from bakeoff.engine.history import History
from bakeoff.engine.lanes import LEAVES, Lanes
from bakeoff.engine.machine import cpu_allowance, memory_available
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending, Terms, run_session
from bakeoff.engine.sharing import sharing
from bakeoff.engine.spawner import Spawner
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.judge.command import LANE as TESTS
from bakeoff.plan.run.changes import Change, change_name, changes_of
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.standing import JOB
from bakeoff.plan.run.work import PlanWork
from bakeoff.sampling.attempt.attempts import AGENTS
from bakeoff.sampling.attempt.given import check_base
from bakeoff.sampling.attempt.job import AGENT_MEMORY, Conditions
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings import Settings, load_settings
from bakeoff.workspace.sandbox.machine import this_machine
from bakeoff.workspace.sandbox.policy import agent_policy, check_policy
from bakeoff.workspace.sandbox.sandbox import granted
from bakeoff.workspace.shared import Workspaces
from bakeoff.workspace.snapshot import Snapshot


async def start(
    store: RunStore, plan: Plan, conditions: Conditions, run_id: str | None = None
) -> tuple[RunFolder, Ending]:
    """Carry it out as a new run. Nothing is left behind when it cannot begin.

    Passes on BakeoffError: the plan, the settings, the agent or the run id are wrong.
    """
    settings = load_settings(store.project)
    plan = replace(plan, attempt=plan.attempt.settled(settings))
    job = _Job(store.project, plan, [], settings, conditions)
    await job.check_sandbox()
    if plan.attempt.base is not None:
        check_base(store.project, plan.attempt.base)
    folder = store.create(run_id or store.new_id())
    folder.logs.mkdir()
    meta = {
        "run_id": folder.id,
        "job": JOB,
        "workflow_id": None,
        "name": plan.goal.strip().splitlines()[0][:100],
        "project": str(store.project),
        "plan": plan.to_json(),
        "created_at": SystemClock().wall(),
    }
    return folder, await job.run(folder, meta)


async def resume(
    store: RunStore, run_id: str, inputs: Mapping[str, Any], conditions: Conditions, change: Change | None = None
) -> tuple[RunFolder, Ending]:
    """Go on with a run, with a change or without: what has ended is not made again unless the change asks for it.

    Raises:
        BakeoffError: the run is no plan, cannot be resumed, or an input or the change is wrong.
    """
    folder = store.open(run_id)
    history = folder.history()
    if history.meta.get("job") != JOB:
        raise BakeoffError(f"run {run_id} is not a run of a plan")
    status, _ = folder.standing(history)
    if change is None and status in (RunStatus.COMPLETED, RunStatus.ABORTED):
        raise BakeoffError(f"run {run_id} is {status}; it cannot be resumed, but see `bakeoff plan retry`")
    if folder.alive():
        folder.lock().release()  # says by whom it is run
    settings = load_settings(store.project)
    kept, options = plan_of(history, inputs, settings)
    changes = [*changes_of(history), *([] if change is None else [change])]
    job = _Job(store.project, replace(kept, attempt=options), changes, settings, conditions)
    await job.check_sandbox()

    async def prepare(run: Run) -> None:
        if inputs:
            ceilings = {name: getattr(options, name) for name in ("max_cost", "max_tokens", "max_calls")}
            await run.note("inputs", ceilings).committed()
        if change is not None:
            await run.decide(change_name(len(changes)), change.to_json)

    return folder, await job.run(folder, None, prepare)


def plan_of(history: History, inputs: Mapping[str, Any], settings: Settings) -> tuple[Plan, AttemptOptions]:
    """The plan of a run as it was begun, and its options as they are now. Passes on BakeoffError: an input is wrong."""
    plan = Plan.from_json(history.meta["plan"])
    options = AttemptOptions.from_json({**plan.attempt.to_json(), **history.inputs}).with_inputs(inputs)
    return plan, options.settled(settings)


class _Job:
    """One session.

    Raises:
        BakeoffError: the agent is unknown or not there, or cannot work under the budget; the plan is wrong.
    """

    def __init__(
        self, project: Path, plan: Plan, changes: list[Change], settings: Settings, conditions: Conditions
    ) -> None:
        self.project, self.settings, self.conditions = project, settings, conditions
        if conditions.max_parallel is not None:
            plan = replace(plan, config=replace(plan.config, max_parallel=conditions.max_parallel))
        self.work = PlanWork.of(plan, settings, str(project), changes)
        self.plan = self.work.plan
        options = self.plan.attempt
        self.policy = check_policy(options.sandbox or settings.sandbox, settings)
        self.agent_level = options.agent_sandbox or settings.agent_sandbox
        self.lanes = self._lanes()

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
            self._warn(f"at most {agents} agents work at once, and not {wanted}: {why}")
        return {TESTS: cpu_allowance(), **self.settings.lanes, AGENTS: agents, LEAVES: self.settings.max_parallel}

    def _warn(self, text: str) -> None:
        self.conditions.events.emit(Warned(SystemClock().wall(), text))

    async def check_sandbox(self) -> None:
        """See that this machine gives the protection asked for, before anything is spent.

        Passes on SandboxError: it does not.
        """
        machine = await this_machine()
        granted(self.policy, machine)
        granted(agent_policy((), self.agent_level), machine)

    async def run(
        self,
        folder: RunFolder,
        meta: Mapping[str, Any] | None,
        prepare: Callable[[Run], Awaitable[None]] | None = None,
    ) -> Ending:
        """The session, to its end."""
        base = {**os.environ, "BAKEOFF_RUN_ID": folder.id}
        masker = Masker()
        spawner = Spawner(token=str(folder.root), base_env=base, masker=masker, adopt=self.conditions.adopt)
        terms = Terms(
            lanes=Lanes(self.lanes),
            ceilings=self.plan.attempt.ceilings,
            events=self.conditions.events,
            masker=masker,
            catch_signals=self.conditions.catch_signals,
            processes=spawner,
        )

        async def job(run: Run) -> Ending:
            async with spawner:
                ending = await self.carry_out(run, folder, spawner)
            return ending

        return await run_session(folder, job, terms, meta=meta, prepare=prepare)

    async def carry_out(self, run: Run, folder: RunFolder, spawner: Spawner) -> Ending:
        """Have all subplans made and merged, and say how it ended."""
        self._warn(self.work.announcement())
        # Whoever holds a slot holds its lanes already, so nobody waits there for more than a slot to be made.
        slots = min(self.lanes[AGENTS] + self.lanes[TESTS], self.lanes[LEAVES])
        async with sharing() as shared:
            workspaces = Workspaces(shared, self.project, self.settings, folder.id, slots, spawner, self._warn)
            taken = run.history.decisions.get("snapshot")
            snapshot = None if taken is None else Snapshot(**{**taken, "left_out": ()})
            async with workspaces.using(self.plan.attempt.base, snapshot) as workspace:
                for left in workspace.snapshot.left_out:
                    self._warn(f"subplans do not have {left.path}: {left.reason}")
                await run.decide("snapshot", lambda: asdict(workspace.snapshot) | {"left_out": []})
                found = await self.work.carry_out(run, workspace, workspaces, spawner)
                facts = {"plan": found.to_json(), "salvaged": list(workspace.salvaged)}
        if found.unpaid is not None:
            return Ending(RunStatus.BUDGET_SPENT, found.unpaid, facts)
        return Ending(RunStatus.COMPLETED, None, facts)
