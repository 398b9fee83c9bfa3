"""The optimisation job: starts a run, takes one up again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.engine.lanes import LEAVES
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.jobs.session import (
    Prepare,
    RunOptions,
    SessionOptions,
    in_session,
    new_run,
    note_inputs,
    resumable,
    settle_snapshot,
    snapshot_of,
)
from bakeoff.judge.checks.command import LANE as TESTS
from bakeoff.judge.timing.bench_lock import LANE as BENCH
from bakeoff.optimize.all_functions.all_functions import AllFunctions, ranking
from bakeoff.optimize.all_functions.ranked import Ranked
from bakeoff.optimize.all_functions.ranking import DRY_TIMEOUT
from bakeoff.optimize.judges.command_judge import MOST_RACED
from bakeoff.optimize.optimisation import Optimisation, target_of
from bakeoff.optimize.options import CHANGEABLE, OptimizeOptions
from bakeoff.optimize.source_code.definitions import locate
from bakeoff.optimize.sources.given import check_given
from bakeoff.optimize.sources.paid_sources import paid_sources
from bakeoff.optimize.view import JOB_NAME, run_view
from bakeoff.process.spawner import Spawner
from bakeoff.process.sweep import process_token
from bakeoff.sampling.attempt.attempts import AGENTS
from bakeoff.sampling.attempt.checkpoint import pending_commits
from bakeoff.sampling.attempt.given import check_base, check_refs
from bakeoff.settings import Settings, load_settings
from bakeoff.system.machine import cpu_allowance
from bakeoff.workspace.repository.cache import check_roots
from bakeoff.workspace.results.pending_commit import PendingCommit
from bakeoff.workspace.snapshot.project import find_project
from bakeoff.workspace.snapshot.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace, open_workspace


async def start(
    store: RunStore, options: OptimizeOptions, run_options: RunOptions, run_id: str | None = None
) -> tuple[RunFolder, Ending]:
    """Carry it out as a new run. Nothing is left behind when it cannot begin.

    Passes on BakeoffError: the settings, the target, a candidate or the run id are wrong.
    """
    job = _Job(store.project, options, load_settings(store.project), run_options)
    job.check()
    check_given(options.candidates)
    check_refs(store.project, options.refs)
    if options.base is not None:
        check_base(store.project, options.base)
    check_roots()
    kept = {"options": options.to_json(), "max_parallel": run_options.max_parallel}
    folder, meta = new_run(store, run_id, JOB_NAME, options.subject, **kept)
    return folder, await job.run(folder, meta)


async def resume(
    store: RunStore, run_id: str, run_options: RunOptions, inputs: Mapping[str, str] | None = None
) -> tuple[RunFolder, Ending]:
    """Go on with a run: no judgement, no race and no generation that has ended is made again.

    With more seconds a completed run without a winner measures those again that were undecided.

    Raises:
        BakeoffError: the run cannot be resumed, or an input (a new ceiling) is wrong.
    """
    folder, history = resumable(store, run_id, JOB_NAME, "no optimisation", ended=True)
    status, _ = folder.status_and_error(history)
    before = OptimizeOptions.from_json({**history.meta["options"], **history.inputs})
    options = before.with_inputs(inputs or {})
    undecided = bool(run_view(history, status).undecided)
    longer = undecided and options.seconds > before.seconds
    if status is RunStatus.CANCELLED or (status is RunStatus.COMPLETED and not longer):
        more = f"; -i seconds=N above {before.seconds:g} measures longer" if undecided else ""
        raise BakeoffError(f"run {run_id} is {status}; it cannot be resumed{more}")
    job = _Job(store.project, options, load_settings(store.project), run_options.resuming(history))
    return folder, await job.run(folder, None, lambda run: note_inputs(run, inputs or {}, options, CHANGEABLE))


async def dry_run(store: RunStore, options: OptimizeOptions, run_options: RunOptions) -> list[Ranked]:
    """The ranking that a run for all functions would begin with; there is no run.

    Passes on BakeoffError: the path is wrong, or no test can be run, or they take longer than somebody waits.
    """
    job = _Job(store.project, options, load_settings(store.project), run_options)
    job.check()
    name = store.new_id()
    async with (
        Spawner(token=process_token(), base_env=dict(os.environ), masker=Masker(), adopt=run_options.adopt) as spawner,
        job.opening(name, spawner, None) as workspace,
    ):
        return await ranking(workspace, spawner, options, job.settings, run_options.events, DRY_TIMEOUT)


class _Job:
    """One session.

    Passes on BakeoffError: the target is written wrongly; a model or an agent is unknown or not there, or cannot work
    under the budget.
    """

    def __init__(self, project: Path, options: OptimizeOptions, settings: Settings, run_options: RunOptions) -> None:
        self.project, self.options, self.settings, self.run_options = project, options, settings, run_options
        self.hired = paid_sources(options, settings, str(project))
        at_once = options.parallel or settings.lanes.get(TESTS) or cpu_allowance()
        most = run_options.max_parallel or settings.max_parallel
        self.lanes = {**settings.lanes, TESTS: at_once, BENCH: 1, LEAVES: max(most, 2), **self.hired.lanes}

    def check(self) -> None:
        """See that the target is there, where it can be seen without a snapshot.

        Raises:
            BakeoffError: the path, or one of the tests' files, is not there.

        Passes on TargetError: the function is not.
        """
        options = self.options
        if options.every:
            if options.base is None and not (self.project / options.target).exists():
                raise BakeoffError(f"--all {options.target}: the project has no such folder or file")
            return
        target = target_of(options)
        if options.base is not None:
            return
        for name in options.tests:
            if not (self.project / name.partition("::")[0]).exists():
                raise BakeoffError(f"--tests {name}: the project has no such file or folder")
        path = self.project / target.path
        if not target.is_project and not path.is_file():
            named = self._places(target.path.name)
            hint = f"; did you mean {' or '.join(named)}?" if named else ""
            raise BakeoffError(f"{target.path}: the project has no such file{hint}")
        if target.qualname:
            locate(path.read_bytes(), target.qualname)

    def _places(self, name: str) -> list[str]:
        """Where files of this name are that git knows, three at most."""
        known = map(os.fsdecode, find_project(self.project).git().run("ls-files", "-z").split(b"\0"))
        return [path for path in known if path.rpartition("/")[2] == name][:3]

    def _slots(self) -> int:
        """Whoever judges, races or works as an agent holds some; nobody waits for one while holding another."""
        racing = 1 if self.options.bench is None else MOST_RACED + 1
        return self.lanes[TESTS] + racing + self.lanes.get(AGENTS, 0) * bool(self.hired.agents)

    def _warn(self, text: str) -> None:
        self.run_options.warn(text)

    async def run(self, folder: RunFolder, meta: Mapping[str, Any] | None, prepare: Prepare | None = None) -> Ending:
        """The session, to its end."""
        session = SessionOptions(self.lanes, self.options.ceilings)
        return await in_session(folder, self.carry_out, self.run_options, session, meta=meta, prepare=prepare)

    async def carry_out(self, run: Run, folder: RunFolder, spawner: Spawner) -> Ending:
        """Judge all there is and say how it ended."""
        if self.hired.models or self.hired.agents:
            self._warn(self.hired.announcement())
        taken = snapshot_of(run.history)

        async def keep(workspace: Workspace) -> None:
            await settle_snapshot(run, workspace, self.run_options)

        opening = partial(self.opening, folder.id, spawner, due=pending_commits(run.history))
        if self.options.every:
            anew = partial(paid_sources, self.options, self.settings, str(self.project))
            every = AllFunctions(self.options, self.settings, self._warn, opening, anew)
            facts, spent = await every.carry_out(run, spawner, taken, keep)
        else:
            async with opening(taken) as workspace:
                work = Optimisation(self.options, self.settings, self._warn, paid=self.hired)
                await keep(workspace)
                try:
                    facts, spent = await work.carry_out(run, workspace, spawner)
                finally:
                    for text in workspace.warnings:
                        self._warn(text)
        status = RunStatus.COMPLETED if spent is None else RunStatus.BUDGET_SPENT
        return Ending(status, spent, facts)

    def opening(
        self, run_id: str, spawner: Spawner, snapshot: Snapshot | None, due: Mapping[str, PendingCommit] | None = None
    ) -> AbstractAsyncContextManager[Workspace]:
        """A workspace at a snapshot, None for a new one; with results that are due in slots of earlier sessions."""
        return open_workspace(
            self.project,
            self.settings,
            run_id,
            base=self.options.base,
            snapshot=snapshot,
            slots=self._slots(),
            mount_at=bool(self.options.checks),
            processes=spawner,
            due=due,
        )
