"""Optimisation of all functions below a path, one after the other: each builds on the winners before it.

Nodes of the run: `ranking`, `function:N` when one has ended, and below `function:N/` those of its own optimisation.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.engine.events import Events
from bakeoff.engine.record import Outcome
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError, the_failure
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.optimize.all_functions.ranked import ProfiledTests, Ranked
from bakeoff.optimize.all_functions.ranking import TIMEOUT, rank
from bakeoff.optimize.behaviour.behaviour import open_behaviour
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.optimisation import Optimisation
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.original import Original
from bakeoff.optimize.sources.paid_sources import PaidSources
from bakeoff.process.command import Processes
from bakeoff.settings import Settings
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.landing.merging import commit_tree
from bakeoff.workspace.repository.repository import ref_name
from bakeoff.workspace.snapshot.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace

Opening = Callable[[Snapshot | None], AbstractAsyncContextManager[Workspace]]
"""Opens a workspace at a snapshot; None for a new one."""


async def ranking(
    workspace: Workspace,
    processes: Processes,
    options: OptimizeOptions,
    settings: Settings,
    events: Events,
    timeout: float = TIMEOUT,
) -> list[Ranked]:
    """The functions below `options.target` that tests reach, those that take most of their time first.

    Raises:
        BakeoffError: there are none.

    Passes on BehaviourError: no test can be run, or they take more than `timeout` seconds.
    """

    def heard(ended: int, test: str) -> None:
        events.emit(ProfiledTests(time.time(), ended, test))

    asked = BehaviourOptions(level=options.level or settings.sandbox, tests=options.tests)
    lock = BenchLock()
    async with open_behaviour(asked) as checker, workspace.lease() as slot, lock.working():
        slot.disposable = True
        content = Original(workspace).content
        found = await rank(checker, processes, slot, options.tests, options.target, content, heard, timeout)
    if not found:
        raise BakeoffError(f"--all {options.target}: the tests reach no function below it")
    return found


@dataclass(slots=True)
class AllFunctions:
    """The functions of one run.

    Attributes:
        options: what was asked for; its target is the path.
        settings: the project's.
        warn: told in words what went wrong without ending anything.
        opening: see there.
        paid_sources: finds models and agents, anew for each function.
    """

    options: OptimizeOptions
    settings: Settings
    warn: Callable[[str], None]
    opening: Opening
    paid_sources: Callable[[], PaidSources]

    async def carry_out(
        self, run: Run, processes: Processes, taken: Snapshot | None, keep: Callable[[Workspace], Awaitable[None]]
    ) -> tuple[dict[str, Any], str | None]:
        """Optimise them: `winner`, how many won or None, and `result`, one commit that holds all.

        A function that fails, or has no winner, does not end the others. A spent budget does; what was found counts.

        Args:
            run: where they are nodes.
            processes: runs tests and profiles.
            taken: the snapshot, where an earlier session has taken it.
            keep: told of the first workspace.

        Returns these facts, and what was said if the budget was spent.

        Passes on BakeoffError: there is nothing to rank.
        """
        async with self._open(taken) as workspace:
            await keep(workspace)
            start = workspace.snapshot
            ranked = await self._ranking(run, workspace, processes)
        now, won, spent = start, 0, None
        for number, one in enumerate(ranked[: self.options.top], 1):
            outcome, spent = await self._function(run, processes, number, one, now)
            if outcome["commit"] is not None:
                won += 1
                now = now.with_work(outcome["commit"], outcome["tree"])
            if spent is not None:
                break
        if not won:
            return {"winner": None}, spent
        async with self._open(now) as workspace:
            result = await in_thread(self._joined, run, workspace, start, now)
        return {"winner": won, "result": result}, spent

    async def _ranking(self, run: Run, workspace: Workspace, processes: Processes) -> list[Ranked]:
        async def work(_: int) -> Outcome:
            found = await ranking(workspace, processes, self.options, self.settings, run.events)
            return Outcome(output={"functions": [one.to_json() for one in found]})

        record = await run.leaf("ranking", "ranking", work, lanes=None)
        if not record.final:
            raise BakeoffError(f"the functions cannot be ranked: {record.error}")
        return [Ranked.from_json(one) for one in record.output["functions"]]

    async def _function(
        self, run: Run, processes: Processes, number: int, one: Ranked, now: Snapshot
    ) -> tuple[dict[str, Any], str | None]:
        """Outcome of one function, out of the record where an earlier session saw its end."""
        path = f"function:{number}"
        if (kept := await run.kept(path)) is not None:
            return dict(kept.output), None
        outcome: dict[str, Any] = {"winner": None, "commit": None, "tree": None, "error": None}
        spent = None
        try:
            async with self._open(now) as workspace:
                options = replace(self.options, target=one.target, every=False)
                work = Optimisation(
                    options, self.settings, self.warn, f"{path}/", f"function-{number}-", paid=self.paid_sources()
                )
                facts, spent = await work.carry_out(run, workspace, processes)
                if facts["winner"] is not None:
                    commit = facts["result"]["commit"]
                    tree = await in_thread(workspace.repository.tree_of, commit)
                    outcome |= {"winner": facts["winner"], "commit": commit, "tree": tree}
        except Exception as raised:
            failure = the_failure(raised)
            if failure is None:
                raise
            self.warn(f"{one.target}: {failure}")
            outcome["error"] = str(failure)
        if spent is None:

            async def work_done(_: int) -> Outcome:
                return Outcome(output=outcome)

            await run.leaf(path, "function", work_done, lanes=None)
        return outcome, spent

    @asynccontextmanager
    async def _open(self, snapshot: Snapshot | None) -> AsyncIterator[Workspace]:
        async with self.opening(snapshot) as workspace:
            try:
                yield workspace
            finally:
                for text in workspace.warnings:
                    self.warn(text)

    def _joined(self, run: Run, workspace: Workspace, start: Snapshot, now: Snapshot) -> dict[str, Any]:
        """All winners as one commit on top of the snapshot."""
        repository = workspace.repository
        message = f"optimise {self.options.target}, run {run.root.name}"
        commit = commit_tree(repository.git(), now.tree, [start.commit], message)
        ref = ref_name(run.root.name, "all")
        repository.set_ref(ref, commit)
        return {"ref": ref, "commit": commit, "judged": commit}
