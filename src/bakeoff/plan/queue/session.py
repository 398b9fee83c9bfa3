"""The merge job: starts a run, takes one up again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.lanes import LEAVES
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.jobs.session import RunOptions, SessionOptions, check_protection, in_session, new_run, resumable
from bakeoff.judge.checks.check_runner import CheckRunner
from bakeoff.judge.checks.command import LANE
from bakeoff.plan.events import QueueSaid
from bakeoff.plan.merge.chain import Merger
from bakeoff.plan.merge.fetch import Brought, bring, find_commits, keep
from bakeoff.plan.queue.findings import Findings
from bakeoff.plan.queue.options import MergeOptions
from bakeoff.plan.queue.preflight import Preflight
from bakeoff.plan.queue.queue import MergeQueue
from bakeoff.plan.queue.verification import Verification
from bakeoff.plan.queue.view import JOB_NAME
from bakeoff.process.spawner import Spawner
from bakeoff.report.words import short_ids
from bakeoff.sampling.attempt.preflight import PreflightError
from bakeoff.settings import Settings, load_settings
from bakeoff.system.machine import cpu_allowance
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.landing.applying import as_user, open_project
from bakeoff.workspace.repository.cache import check_roots
from bakeoff.workspace.sandbox.policy import check_policy
from bakeoff.workspace.snapshot.project import find_project
from bakeoff.workspace.snapshot.submodules import Submodules
from bakeoff.workspace.workspace import Workspace, open_workspace


async def start(
    store: RunStore, options: MergeOptions, run_options: RunOptions, run_id: str | None = None
) -> tuple[RunFolder, Ending]:
    """Carry it out as a new run. Nothing is left behind when it cannot begin.

    Passes on BakeoffError: the settings, a ref or the run id are wrong.
    """
    settings = load_settings(store.project)
    job = _Job(store.project, options.settled(settings), settings, run_options)
    find_commits(find_project(store.project), options.base, options.refs)
    await job.check_sandbox()
    title = short_ids(f"merge {' '.join(options.refs)}")
    kept = {"options": job.options.to_json(), "max_parallel": run_options.max_parallel}
    check_roots()
    folder, meta = new_run(store, run_id, JOB_NAME, title, **kept)
    return folder, await job.run(folder, meta)


async def resume(store: RunStore, run_id: str, run_options: RunOptions) -> tuple[RunFolder, Ending]:
    """Go on with a run: it merges the same commits, and no check that has ended is run again.

    Passes on BakeoffError: the run cannot be resumed.
    """
    folder, history = resumable(store, run_id, JOB_NAME, "no merge")
    options = MergeOptions.from_json(history.meta["options"])
    job = _Job(store.project, options, load_settings(store.project), run_options.resuming(history))
    await job.check_sandbox()
    return folder, await job.run(folder, None)


class _Job:
    """One session."""

    def __init__(self, project: Path, options: MergeOptions, settings: Settings, run_options: RunOptions) -> None:
        self.project, self.options, self.settings, self.run_options = project, options, settings, run_options
        self.policy = check_policy(options.sandbox or settings.sandbox, settings)
        most = run_options.max_parallel or settings.max_parallel
        self.lanes = {LANE: cpu_allowance(), **settings.lanes, LEAVES: most}

    async def check_sandbox(self) -> None:
        """See `check_protection`."""
        await check_protection(self.settings, self.options.sandbox, has_agents=False)

    async def run(self, folder: RunFolder, meta: Mapping[str, Any] | None) -> Ending:
        """The session, to its end."""
        return await in_session(folder, self.carry_out, self.run_options, SessionOptions(self.lanes), meta=meta)

    async def carry_out(self, run: Run, folder: RunFolder, spawner: Spawner) -> Ending:
        """Merge, verify, and say how it ended."""
        brought = await self._brought(run)
        if self.options.base == "HEAD" and await in_thread(_dirty, self.project):
            self.run_options.warn("uncommitted changes are no part of this: all is merged onto the commit HEAD")
        async with open_workspace(
            self.project,
            self.settings,
            folder.id,
            snapshot=brought.snapshot,
            slots=min(self.lanes[LANE], self.lanes[LEAVES]),
            mount_at=True,
            own_work=True,
            processes=spawner,
        ) as workspace:
            try:
                findings = await self._landed(run, folder, workspace, spawner, brought)
            except PreflightError as failure:
                return Ending(RunStatus.FAILED, str(failure), {"refused": True})
            finally:
                for text in (*workspace.lacking(), *workspace.warnings):
                    self.run_options.warn(text)
        return Ending(RunStatus.COMPLETED, None, {"findings": findings.to_json()})

    async def _brought(self, run: Run) -> Brought:
        if "brought" not in run.history.decisions:
            project, repository = await in_thread(open_project, self.project)
            found = await in_thread(
                bring, project, repository, run.root.name, self.options.base, list(self.options.refs)
            )
            await run.decide("brought", found.to_json)
        return Brought.from_json(run.history.decisions["brought"])

    async def _landed(
        self, run: Run, folder: RunFolder, workspace: Workspace, spawner: Spawner, brought: Brought
    ) -> Findings:
        options, repository = self.options, workspace.repository
        ground = CheckRunner(workspace, spawner, folder.logs, self.settings.grace, self.policy, tests="as merged")
        git = as_user(workspace.base.project, repository.git())
        root = workspace.base.project.root
        footer, strategy = f"bakeoff run {folder.id}", options.strategy or "three_way"
        attributes = await in_thread(lambda: workspace.base.rules)
        merger = Merger(git, options.rules, strategy, footer, Submodules(root), attributes)
        tip = await in_thread(merger.point, brought.snapshot.commit)
        verification = Verification(run, ground, tip.tree, options.checks, options.check_timeout)
        preflight = Preflight(verification, self.run_options.warn).carry_out if options.preflight else None
        queue = MergeQueue(merger, verification, ground, tip, options.width or 1, self._say, preflight)
        findings = await queue.land([replace(change, tested=options.tested) for change in brought.changes])
        await in_thread(keep, repository, folder.id, {"tip": findings.tip})
        return findings

    def _say(self, text: str) -> None:
        self.run_options.events.emit(QueueSaid(SystemClock().wall(), text))


def _dirty(path: Path) -> bool:
    return bool(find_project(path).git().run("status", "--porcelain", "-z", "-uno", "--ignore-submodules"))
