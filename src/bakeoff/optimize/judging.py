"""Judges candidates in slots of a workspace: behaviour beside other work, speed with the machine alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.speed import Speed
from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.behaviour import Behaviour
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.target import Target
from bakeoff.workspace.workspace import Workspace


@dataclass(slots=True)
class SlotJudge:
    """See `pipeline.Judge`.

    Attributes:
        workspace: has the slots.
        checker: judges behaviour.
        baseline: of the original.
        lock: on the machine's processors.
        options: what was asked for.
    """

    workspace: Workspace
    checker: Behaviour
    baseline: Baseline
    lock: BenchLock
    options: OptimizeOptions

    async def behaviour(self, candidate: Candidate) -> Judgement:
        """Passes on BehaviourError and WorkspaceError: it cannot be judged here."""
        async with self.workspace.lease() as slot, self.lock.working():
            slot.disposable = True
            return await self.checker.judge(slot, self.baseline, candidate)

    async def race(self, candidates: Mapping[int, Candidate]) -> Mapping[int, Speed]:
        """Passes on TimingError: nothing can be measured here."""
        return {number: Speed("undecided", "nothing measures yet") for number in candidates}


async def prepared(workspace: Workspace, checker: Behaviour, target: Target, lock: BenchLock) -> Baseline:
    """The original's behaviour.

    Passes on TargetError, BehaviourError and SandboxError.
    """
    async with workspace.lease() as slot, lock.working():
        slot.disposable = True
        return await checker.prepare(slot, target)
