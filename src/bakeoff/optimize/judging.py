"""Judges candidates in slots of a workspace: behaviour beside other work, speed with the machine alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from bakeoff.judge.timing.bench import Input
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.parent import READS, Code, place
from bakeoff.judge.timing.race import Options, race
from bakeoff.judge.timing.speed import Speed
from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.behaviour import Behaviour
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.target import Target
from bakeoff.workspace.slot import Slot
from bakeoff.workspace.workspace import Workspace

LEAST_MEMORY = 512 << 20
"""Bytes that a process may take while it is measured, whatever the original takes."""


@dataclass(slots=True)
class SlotJudge:
    """See `pipeline.Judge`.

    Attributes:
        workspace: has the slots.
        checker: judges behaviour.
        baseline: of the original.
        lock: on the machine's processors.
        options: what was asked for.
        contents: of files of the snapshot, by path.
        is_async: whether the target is.
    """

    workspace: Workspace
    checker: Behaviour
    baseline: Baseline
    lock: BenchLock
    options: OptimizeOptions
    contents: Callable[[Iterable[str]], Mapping[str, bytes | None]]
    is_async: bool = False

    async def behaviour(self, candidate: Candidate) -> Judgement:
        """Passes on BehaviourError and WorkspaceError: it cannot be judged here."""
        async with self.workspace.lease() as slot, self.lock.working():
            slot.disposable = True
            return await self.checker.judge(slot, self.baseline, candidate)

    async def race(self, candidates: Mapping[int, Candidate]) -> Mapping[int, Speed]:
        """Passes on TimingError: nothing can be measured here."""
        baseline, options = self.baseline, self.options
        inputs = [Input(call.before, call.derived) for call in baseline.recorded]
        names = {path for candidate in candidates.values() for path in candidate.files}
        original = {path: content for path, content in self.contents(names).items() if content is not None}
        async with self.workspace.lease() as slot:
            slot.disposable = True
            memory = max(LEAST_MEMORY, 4 * baseline.peak)
            command = await self.checker.interpreter(slot, memory, READS, {"PYTHONHASHSEED": "0"})
            code = Code(
                baseline.module,
                baseline.target.qualname,
                slot.path,
                self._folders(slot),
                self.is_async,
                self.checker.preload,
            )
            raced = await race(
                place(command),
                code,
                original,
                {str(number): candidate.files for number, candidate in candidates.items()},
                inputs,
                Options(options.min_speedup, options.seconds, options.seed, memory=options.memory),
                lock=self.lock,
            )
        return {int(name): speed for name, speed in raced.speeds.items()}

    def _folders(self, slot: Slot) -> list[str]:
        """Where the tests import from, relative to the project's root."""
        found = []
        for path in self.baseline.sys_path:
            for root in (slot.path, str(slot.base.project.root)):
                if path == root or path.startswith(f"{root}/"):
                    found.append(path[len(root) + 1 :])
                    break
        return list(dict.fromkeys(found))


async def prepared(workspace: Workspace, checker: Behaviour, target: Target, lock: BenchLock) -> Baseline:
    """The original's behaviour.

    Passes on TargetError, BehaviourError and SandboxError.
    """
    async with workspace.lease() as slot, lock.working():
        slot.disposable = True
        return await checker.prepare(slot, target)
