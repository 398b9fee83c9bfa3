"""The attempt job: starts a run, takes one up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.agent.entry import Entry
from bakeoff.agent.registry import find_entry
from bakeoff.agent.runner import AgentRequest, check_request
from bakeoff.engine.lanes import LEAVES
from bakeoff.engine.record import RunStatus
from bakeoff.engine.retry import Retry
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending
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
from bakeoff.judge.timing.bench_lock import LANE as BENCH
from bakeoff.process.spawner import Spawner
from bakeoff.sampling.attempt.attempts import AGENTS, Attempts, reserve_for
from bakeoff.sampling.attempt.checkpoint import pending_commits
from bakeoff.sampling.attempt.given import all_commits, check_base
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.preflight import PreflightError, say_missing, say_unmatched
from bakeoff.sampling.attempt.view import JOB_NAME
from bakeoff.sampling.result import Reason, SamplingError, SamplingResult
from bakeoff.settings import Settings, load_settings
from bakeoff.system.machine import cpu_allowance, memory_available
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.repository.cache import check_roots
from bakeoff.workspace.workspace import Workspace, open_workspace

AT_ONCE = 4
"""Agents at once where the settings say nothing."""

TURNED_AWAY = Retry(delay=15.0, backoff=3.0, max_delay=300.0, on=("rate_limit", "overload"))
"""For calls that the agent's model would have answered at another time; a CLI that says when is waited for longer."""

AGENT_MEMORY = 1 << 30
"""Bytes that one coding agent is reckoned to need; the `agents` lane shrinks where there is less."""


async def start(
    store: RunStore, options: AttemptOptions, run_options: RunOptions, run_id: str | None = None
) -> tuple[RunFolder, Ending]:
    """Carry it out as a new run. Nothing is left behind when it cannot begin.

    Passes on BakeoffError: the settings, the agent or the run id are wrong.
    """
    settings = load_settings(store.project)
    options = options.settled(settings)
    job = _Job(store.project, options, settings, run_options)
    await job.check_sandbox()
    if options.base is not None:
        check_base(store.project, options.base)
    title = options.task.strip().splitlines()[0]
    check_roots()
    folder, meta = new_run(
        store, run_id, JOB_NAME, title, options=options.to_json(), max_parallel=run_options.max_parallel
    )
    return folder, await job.run(folder, meta)


async def resume(
    store: RunStore, run_id: str, inputs: Mapping[str, Any], run_options: RunOptions
) -> tuple[RunFolder, Ending]:
    """Go on with a run: no generation and no check that has ended is made again.

    Passes on BakeoffError: the run cannot be resumed, or an input is wrong.
    """
    folder, history = resumable(store, run_id, JOB_NAME, "not a run of attempts")
    settings = load_settings(store.project)
    options = AttemptOptions.from_json({**history.meta["options"], **history.inputs}).with_inputs(inputs)
    job = _Job(store.project, options.settled(settings), settings, run_options.resuming(history), resumed=True)
    await job.check_sandbox()

    return folder, await job.run(folder, None, lambda run: note_inputs(run, inputs, options))


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
        run_options: RunOptions,
        *,
        resumed: bool = False,
    ) -> None:
        self.project, self.options, self.settings, self.run_options = project, options, settings, run_options
        self.resumed = resumed
        self.entry: Entry | None = None
        if not options.refs:
            self.entry = find_entry(options.agent, settings, options.endpoint)
            asked = AgentRequest(options.task, model=options.model)
            check_request(self.entry, asked, project)
        reserve = reserve_for(options, settings, self.entry)
        retry = replace(TURNED_AWAY, attempts=1 + options.retries)
        self.attempts = Attempts(options, settings, self.entry, reserve, retry=retry)
        self.lanes = self._lanes()

    def _lanes(self) -> dict[str, int]:
        agents = AT_ONCE
        memory = memory_available()
        if memory is not None and memory < AT_ONCE * AGENT_MEMORY and AGENTS not in self.settings.lanes:
            agents = max(1, memory // AGENT_MEMORY)
            self.run_options.warn(f"lane agents is lowered to {agents}: {memory >> 20} MiB of memory are available")
        most = self.run_options.max_parallel or self.settings.max_parallel
        lanes = {AGENTS: agents, TESTS: cpu_allowance(), BENCH: 1, **self.settings.lanes}
        return {**lanes, LEAVES: most}

    def _raced(self) -> int:
        """Slots that a race holds at once, when all judging is over."""
        return 0 if self.options.bench is None else len(self.options.refs) + 1

    async def check_sandbox(self) -> None:
        """See `check_protection`."""
        asked = self.options
        has_agents = self.entry is not None
        await check_protection(self.settings, asked.sandbox, asked.agent_sandbox, has_agents=has_agents)

    async def run(self, folder: RunFolder, meta: Mapping[str, Any] | None, prepare: Prepare | None = None) -> Ending:
        """The session, to its end."""
        session = SessionOptions(self.lanes, self.options.ceilings)
        return await in_session(folder, self.carry_out, self.run_options, session, meta=meta, prepare=prepare)

    async def carry_out(self, run: Run, folder: RunFolder, spawner: Spawner) -> Ending:
        """Make the attempts and say how it ended."""
        if self.entry is not None:
            self.run_options.warn(self.attempts.announcement())
        options, warn = self.options, self.run_options.warn
        async with open_workspace(
            self.project,
            self.settings,
            folder.id,
            base=options.base,
            snapshot=snapshot_of(run.history),
            # Whoever holds a slot holds its lanes already, so nobody waits here for more than a slot to be made.
            slots=max(min(self.lanes[AGENTS] + self.lanes[TESTS], self.lanes[LEAVES]), self._raced()),
            mount_at=True,
            own_work=await in_thread(all_commits, self.project, options.refs),
            processes=spawner,
            due=pending_commits(run.history),
        ) as workspace:
            await settle_snapshot(run, workspace, self.run_options, "attempts")
            try:
                if self.entry is None and not self.resumed:
                    await say_unmatched(options.protect, workspace.base, warn)
                tried = {} if self.entry is None else await self.attempts.preflight(run, workspace, spawner, warn)
                result = await self.attempts.make(run, workspace, spawner, resumed=self.resumed, tried=tried)
                if not tried:
                    await say_missing(result, workspace.base, warn)
            except PreflightError as failure:
                return Ending(RunStatus.FAILED, str(failure), {"refused": True})
            except SamplingError as failure:
                return Ending(RunStatus.FAILED, str(failure), _facts(failure.result, workspace))
            finally:
                for text in workspace.warnings:
                    self.run_options.warn(text)
            if result.reason is Reason.CAP:
                return Ending(RunStatus.BUDGET_SPENT, _spent(result), _facts(result, workspace))
            return Ending(RunStatus.COMPLETED, None, _facts(result, workspace))


def _spent(result: SamplingResult) -> str:
    said = [error.message for error in result.errors.values() if error.kind == "budget"]
    return said[-1] if said else result.short or "the budget is spent"


def _facts(result: SamplingResult, workspace: Workspace) -> dict[str, Any]:
    best = result.winner
    return {
        "winner": best.id if best is not None and result.success else None,
        "closest": best.id if best is not None and not result.success and best.near else None,
        "reason": result.reason.value,
        "salvaged": list(workspace.salvaged),
    }
