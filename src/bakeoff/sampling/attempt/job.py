"""The attempt job: starts a run, takes one up again."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bakeoff.agent.entry import Entry
from bakeoff.agent.registry import find_entry
from bakeoff.agent.runner import AgentRequest, check_request
from bakeoff.engine.clock import SystemClock
from bakeoff.engine.errors import BakeoffError
from bakeoff.engine.events import Events, Warned
from bakeoff.engine.lanes import LEAVES, Lanes
from bakeoff.engine.machine import cpu_allowance, memory_available
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import RunStatus
from bakeoff.engine.retry import Retry
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending, Terms, run_session
from bakeoff.engine.spawner import Spawner
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.judge.command import LANE as TESTS
from bakeoff.judge.timing.bench_lock import LANE as BENCH
from bakeoff.sampling.attempt.attempts import AGENTS, Attempts, reserve_for
from bakeoff.sampling.attempt.given import check_base
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.standing import JOB
from bakeoff.sampling.result import Reason, SamplingError, SamplingResult
from bakeoff.settings import Settings, load_settings
from bakeoff.workspace.sandbox.machine import this_machine
from bakeoff.workspace.sandbox.policy import agent_policy, check_policy
from bakeoff.workspace.sandbox.sandbox import granted
from bakeoff.workspace.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace, open_workspace

AT_ONCE = 4
"""Agents at once where the settings say nothing."""

TURNED_AWAY = Retry(delay=15.0, backoff=3.0, max_delay=300.0, on=("rate_limit", "overload"))
"""For calls that the agent's model would have answered at another time; a CLI that says when is waited for longer."""

AGENT_MEMORY = 1 << 30
"""Bytes that one coding agent is reckoned to need; the `agents` lane shrinks where there is less."""


@dataclass(slots=True)
class Conditions:
    """How a run is to be carried out, besides what is asked for.

    Attributes:
        max_parallel: leaves at once; None for the setting.
        events: the stream of what happens.
        catch_signals: end in order on SIGINT, SIGTERM and SIGHUP.
        adopt: see `Spawner`; for command lines.
    """

    max_parallel: int | None = None
    events: Events = field(default_factory=Events)
    catch_signals: bool = True
    adopt: bool = False


async def start(
    store: RunStore, options: AttemptOptions, conditions: Conditions, run_id: str | None = None
) -> tuple[RunFolder, Ending]:
    """Carry it out as a new run. Nothing is left behind when it cannot begin.

    Passes on BakeoffError: the settings, the agent or the run id are wrong.
    """
    settings = load_settings(store.project)
    options = options.settled(settings)
    job = _Job(store.project, options, settings, conditions)
    await job.check_sandbox()
    if options.base is not None:
        check_base(store.project, options.base)
    folder = store.create(run_id or store.new_id())
    folder.logs.mkdir()
    meta = {
        "run_id": folder.id,
        "job": JOB,
        "workflow_id": None,
        "name": options.task.strip().splitlines()[0][:100],
        "project": str(store.project),
        "options": options.to_json(),
        "created_at": SystemClock().wall(),
    }
    return folder, await job.run(folder, meta)


async def resume(
    store: RunStore, run_id: str, inputs: Mapping[str, Any], conditions: Conditions
) -> tuple[RunFolder, Ending]:
    """Go on with a run: no generation and no check that has ended is made again.

    Raises:
        BakeoffError: the run cannot be resumed, or an input is wrong.
    """
    folder = store.open(run_id)
    history = folder.history()
    if history.meta.get("job") != JOB:
        raise BakeoffError(f"run {run_id} is not a run of attempts")
    status, _ = folder.standing(history)
    if status in (RunStatus.COMPLETED, RunStatus.ABORTED):
        raise BakeoffError(f"run {run_id} is {status}; it cannot be resumed")
    if folder.alive():
        folder.lock().release()  # says by whom it is run
    settings = load_settings(store.project)
    options = AttemptOptions.from_json({**history.meta["options"], **history.inputs}).with_inputs(inputs)
    job = _Job(store.project, options.settled(settings), settings, conditions, resumed=True)
    await job.check_sandbox()

    async def prepare(run: Run) -> None:
        if inputs:
            changed = {name: getattr(options, name) for name in ("max_cost", "max_tokens", "max_calls")}
            await run.note("inputs", changed).committed()

    return folder, await job.run(folder, None, prepare)


class _Job:
    """One session.

    Raises:
        BakeoffError: the agent is unknown or not there, or cannot work under the budget.
    """

    def __init__(
        self,
        project: Path,
        options: AttemptOptions,
        settings: Settings,
        conditions: Conditions,
        *,
        resumed: bool = False,
    ) -> None:
        self.project, self.options, self.settings, self.conditions = project, options, settings, conditions
        self.resumed = resumed
        self.entry: Entry | None = None
        if not options.refs:
            self.entry = find_entry(options.agent, settings)
            asked = AgentRequest(options.task, model=options.model or settings.model)
            check_request(self.entry, asked, project)
        self.policy = check_policy(options.sandbox or settings.sandbox, settings)
        self.agent_level = options.agent_sandbox or settings.agent_sandbox
        reserve = reserve_for(options, settings, self.entry)
        retry = replace(TURNED_AWAY, attempts=1 + options.retries)
        self.attempts = Attempts(options, settings, self.entry, reserve, retry=retry)
        self.lanes = self._lanes()

    def _lanes(self) -> dict[str, int]:
        agents = AT_ONCE
        memory = memory_available()
        if memory is not None and memory < AT_ONCE * AGENT_MEMORY and AGENTS not in self.settings.lanes:
            agents = max(1, memory // AGENT_MEMORY)
            self._warn(f"lane agents is lowered to {agents}: {memory >> 20} MiB of memory are available")
        most = self.conditions.max_parallel or self.settings.max_parallel
        lanes = {AGENTS: agents, TESTS: cpu_allowance(), BENCH: 1, **self.settings.lanes}
        return {**lanes, LEAVES: most}

    def _raced(self) -> int:
        """Slots that a race holds at once, when all judging is over."""
        return 0 if self.options.bench is None else len(self.options.refs) + 1

    def _warn(self, text: str) -> None:
        self.conditions.events.emit(Warned(SystemClock().wall(), text))

    async def check_sandbox(self) -> None:
        """See that this machine gives the protection asked for, before anything is spent.

        Passes on SandboxError: it does not.
        """
        machine = await this_machine()
        granted(self.policy, machine)
        if self.entry is not None:
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
            ceilings=self.options.ceilings,
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
        """Make the attempts and say how it ended."""
        if self.entry is not None:
            self._warn(self.attempts.announcement())
        taken = run.history.decisions.get("snapshot")
        options = self.options
        async with open_workspace(
            self.project,
            self.settings,
            folder.id,
            base=options.base,
            snapshot=None if taken is None else Snapshot(**{**taken, "left_out": ()}),
            # Whoever holds a slot holds its lanes already, so nobody waits here for more than a slot to be made.
            slots=max(min(self.lanes[AGENTS] + self.lanes[TESTS], self.lanes[LEAVES]), self._raced()),
            mount_at=True,
            processes=spawner,
        ) as workspace:
            for left in workspace.snapshot.left_out:
                self._warn(f"attempts do not have {left.path}: {left.reason}")
            await run.decide("snapshot", lambda: asdict(workspace.snapshot) | {"left_out": []})
            try:
                result = await self.attempts.make(run, workspace, spawner, resumed=self.resumed)
            except SamplingError as failure:
                return Ending(RunStatus.FAILED, str(failure), _facts(failure.result, workspace))
            finally:
                for text in workspace.warnings:
                    self._warn(text)
            if result.reason is Reason.CAP:
                return Ending(RunStatus.BUDGET_SPENT, _spent(result), _facts(result, workspace))
            return Ending(RunStatus.COMPLETED, None, _facts(result, workspace))


def _spent(result: SamplingResult) -> str:
    said = [error.message for error in result.errors.values() if error.kind == "budget"]
    return said[-1] if said else "the budget is spent"


def _facts(result: SamplingResult, workspace: Workspace) -> dict[str, Any]:
    best = result.winner
    return {
        "winner": best.id if best is not None and result.success else None,
        "closest": best.id if best is not None and not result.success else None,
        "reason": result.reason.value,
        "salvaged": list(workspace.salvaged),
    }
