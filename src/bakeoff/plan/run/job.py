"""The plan job: starts a run, takes one up again, changes one that has ended."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bakeoff.agent.override import find_executable
from bakeoff.agent.registry import find_entry
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
from bakeoff.judge.ground import Ground
from bakeoff.plan.merge.chain import Merger
from bakeoff.plan.merge.rules import Rules
from bakeoff.plan.run.changes import Change, amended, change_name, changes_of
from bakeoff.plan.run.findings import PlanFindings
from bakeoff.plan.run.leaves import Leaves
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.result import keep_result
from bakeoff.plan.run.rounds import Rounds
from bakeoff.plan.run.standing import JOB
from bakeoff.sampling.attempt.attempts import AGENTS, agent_reserve
from bakeoff.sampling.attempt.given import check_base
from bakeoff.sampling.attempt.job import AGENT_MEMORY, TURNED_AWAY, Conditions
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings import Settings, load_settings
from bakeoff.workspace.applying import as_user
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.sandbox.machine import this_machine
from bakeoff.workspace.sandbox.policy import agent_policy, check_policy
from bakeoff.workspace.sandbox.sandbox import granted
from bakeoff.workspace.shared import Workspaces
from bakeoff.workspace.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace


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
        self.amended, self.changes = amended(plan, changes), len(changes)
        self.plan = self.amended.plan
        self.plan.graph()  # says what is wrong before anything is begun
        options = self.plan.attempt
        self.entry = find_entry(options.agent, settings)
        find_executable(self.entry, str(project), self.entry.env)
        self.policy = check_policy(options.sandbox or settings.sandbox, settings)
        self.agent_level = options.agent_sandbox or settings.agent_sandbox
        share = len(plan.subplans) * options.attempts
        model = options.model or settings.model
        self.reserve = agent_reserve(self.entry, model, settings.max_usd, options.max_cost, options.max_tokens, share)
        self.retry = replace(TURNED_AWAY, attempts=1 + options.retries)
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

    def announcement(self) -> str:
        """How many calls there may be, and how far the budget can be overshot."""
        options = self.plan.attempt
        most = self.plan.most_calls
        calls = f"{len(self.plan.subplans)} subplans, at most {most} calls of {self.entry.name}"
        budget = ", ".join(f"{amount:g} {kind}" for kind, amount in options.ceilings.items()) or "none is set"
        over = ""
        if options.max_cost is not None and not self.entry.can_cap_cost:
            over = f"; {self.entry.name} cannot be held to the {self.reserve['usd']:g} usd reserved for a call"
        elif options.max_tokens is not None:
            over = "; tokens are counted when a call has ended, so calls under way may go over"
        again = f", {options.retries} more in place of each that its model turns away" if options.retries else ""
        return f"{calls}{again}; budget: {budget}{over}"

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
        self._warn(self.announcement())
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
                found = await self._made(run, folder, workspace, workspaces, spawner)
                facts = {"plan": found.to_json(), "salvaged": list(workspace.salvaged)}
        if found.unpaid is not None:
            return Ending(RunStatus.BUDGET_SPENT, found.unpaid, facts)
        return Ending(RunStatus.COMPLETED, None, facts)

    async def _made(
        self, run: Run, folder: RunFolder, workspace: Workspace, workspaces: Workspaces, spawner: Spawner
    ) -> PlanFindings:
        repository, merge = workspace.repository, self.settings.merge
        git = as_user(workspace.base.project, repository.git())
        rules = Rules(merge.union, merge.lockfiles, merge.structured)
        merger = Merger(git, rules, self.plan.config.strategy, f"bakeoff run {folder.id}")
        leaves = Leaves(
            run,
            self.plan,
            self.settings,
            self.entry,
            self.reserve,
            self.retry,
            workspaces,
            workspace.snapshot,
            repository,
            spawner,
        )
        ground = Ground(workspace, spawner, folder.logs, self.settings.grace, self.policy)
        rounds = Rounds(run, self.amended, self.changes, leaves, merger, ground, repository, merge.width)
        found = await rounds.carry_out(workspace.snapshot.commit)
        found.result = await in_thread(keep_result, git, repository, folder.id, found, self.plan.goal)
        return found
