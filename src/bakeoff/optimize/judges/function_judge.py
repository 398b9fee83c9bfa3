"""Judge of a function by its tests, in slots: behaviour beside other work, speed with the machine alone."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.functions import race
from bakeoff.judge.timing.parent import READS, Code, place
from bakeoff.judge.timing.plan import Input
from bakeoff.judge.timing.race import Options
from bakeoff.judge.timing.speed import Speed
from bakeoff.optimize.behaviour.baseline import Baseline, names_of
from bakeoff.optimize.behaviour.behaviour import Behaviour
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.context.observed import Observed, observed
from bakeoff.optimize.context.profiling import profile
from bakeoff.optimize.errors import BehaviourError
from bakeoff.optimize.judges.applied_tests import AppliedTests, Run
from bakeoff.optimize.options import OptimizeOptions
from bakeoff.optimize.source_code.imports import imported_by
from bakeoff.optimize.sources.source import ProfileLine
from bakeoff.process.command import Command, Processes
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.workspace import Workspace

LEAST_MEMORY = 512 << 20
"""Bytes that a process may take while it is measured, whatever the original takes."""


@dataclass(slots=True)
class FunctionJudge:
    """See `judges.judge.Judge`.

    Attributes:
        workspace: has the slots.
        checker: judges behaviour.
        prepare: makes the baseline; called once, when it is needed.
        lock: on the machine's processors.
        options: what was asked for.
        processes: runs profiles.
        contents: of files of the snapshot, by path.
        is_async: whether the target is.
    """

    workspace: Workspace
    checker: Behaviour
    prepare: Callable[[], Awaitable[Baseline]]
    lock: BenchLock
    options: OptimizeOptions
    processes: Processes
    contents: Callable[[Iterable[str]], Mapping[str, bytes | None]]
    is_async: bool = False
    _known: Baseline | None = None
    _applied: AppliedTests | None = None
    tests_winners: bool = True
    _preparing: anyio.Lock = field(default_factory=anyio.Lock)

    async def baseline(self) -> Baseline:
        """Of the original."""
        async with self._preparing:
            if self._known is None:
                self._known = await self.prepare()
            return self._known

    async def begin(self) -> None:
        """Passes on BehaviourError and WorkspaceError: nothing can be judged here."""
        await self.baseline()

    async def behaviour(self, candidate: Candidate) -> Judgement:
        """Passes on BehaviourError and WorkspaceError: it cannot be judged here."""
        baseline = await self.baseline()
        async with self.workspace.lease() as slot, self.lock.working():
            slot.disposable = True
            return await self.checker.judge(slot, baseline, candidate)

    async def race(self, candidates: Mapping[int, Candidate], earlier: int = 0) -> Mapping[int, Speed]:
        """See `Judge`.

        Raises:
            BehaviourError: there is no call to time.

        Passes on TimingError: nothing can be measured here.
        """
        baseline, options = await self.baseline(), self.options
        if not baseline.recorded:
            raise BehaviourError(
                f"{baseline.target} behaves the same but cannot be timed by itself: no call of it can be made in a "
                f"process without its tests ({_first_reason(baseline)}); time a whole command with --bench"
            )
        inputs = [Input(call.before, call.derived) for call in baseline.recorded]
        added = _joined(baseline.added_by(candidate.files) for candidate in candidates.values())
        names = {path for candidate in candidates.values() for path in candidate.files}
        original = {path: content for path, content in self.contents(names).items() if content is not None}
        async with self.workspace.lease() as slot:
            slot.disposable = True
            command = await self._interpreter(baseline, slot, READS)
            code = Code(
                baseline.module,
                baseline.target.qualname,
                slot.path,
                _folders(baseline, slot),
                self.is_async,
                imported_by(candidate.files for candidate in candidates.values()),
                [*baseline.unseen, *names_of(added)],
                self.checker.options.messages,
                baseline.inner,
                added,
            )
            raced = await race(
                place(command),
                code,
                original,
                {str(number): candidate.files for number, candidate in candidates.items()},
                inputs,
                Options(options.min_speedup, options.seconds, options.seed, memory=options.memory, earlier=earlier),
                lock=self.lock,
            )
        return {int(name): speed for name, speed in raced.speeds.items()}

    async def as_applied(self, candidate: Candidate, judgement: Judgement) -> Judgement:
        """See `Judge`. Passes on BehaviourError, WorkspaceError, SandboxError: there is no place for it."""
        baseline = await self.baseline()
        if self._applied is None:
            self._applied = AppliedTests(self.processes, self._plain, self.options.tests)
        applied = self._applied

        async def run(tried: Candidate | None) -> Run:
            async with self.workspace.lease() as slot, self.lock.working():
                slot.disposable = True
                if tried is not None:
                    await in_thread(write_files, slot.outside, tried)
                return await applied.run(slot, baseline)

        return await applied.judge(run, candidate, judgement)

    async def profile(self, candidate: Candidate | None) -> Sequence[ProfileLine]:
        """Passes on WorkspaceError and SandboxError: there is no place for it."""
        baseline = await self.baseline()
        path = str(baseline.target.path)
        async with self.workspace.lease() as slot, self.lock.working():
            slot.disposable = True
            if candidate is not None:
                await in_thread(write_files, slot.outside, candidate)
            command = await self._interpreter(baseline, slot, profile.READS)
            folders = [os.path.join(slot.path, folder) for folder in _folders(baseline, slot)]
            calls = [call.before for call in baseline.recorded if not call.derived]
            job = profile.job_of(baseline.module, baseline.target.qualname, folders, self.is_async, calls)
            source = baseline.source if candidate is None else candidate.files.get(path) or baseline.source
            return await profile.profiled(self.processes, command, slot.temp, job, source)

    async def observed(self) -> Observed:
        """Passes on BehaviourError: there is no baseline."""
        return await in_thread(observed, await self.baseline())

    async def _plain(self, baseline: Baseline, slot: Slot) -> Command:
        return await self._interpreter(baseline, slot, ())

    async def _interpreter(self, baseline: Baseline, slot: Slot, reads: Sequence[str]) -> Command:
        memory = max(LEAST_MEMORY, 4 * baseline.peak)
        return await self.checker.interpreter(slot, memory, reads, {"PYTHONHASHSEED": "0"})


def _joined(added: Iterable[Mapping[str, Mapping[str, str]]]) -> dict[str, dict[str, str]]:
    """Attributes that several candidates add; of one that two of them set to something else, what the last does."""
    found: dict[str, dict[str, str]] = {}
    for each in added:
        for cls, attributes in each.items():
            found.setdefault(cls, {}).update(attributes)
    return found


def _first_reason(baseline: Baseline) -> str:
    return next(iter(baseline.in_process.values()), "none gives the same twice")


def _folders(baseline: Baseline, slot: Slot) -> list[str]:
    """Folders that the tests import from, relative to the project's root."""
    inside = f"{slot.path}/"
    found = [path[len(inside) :] for path in baseline.seen_from(slot.path) if f"{path}/".startswith(inside)]
    return list(dict.fromkeys(found))


def write_files(root: Path, candidate: Candidate) -> None:
    """Put a candidate's files into a tree. Blocks."""
    for path, content in candidate.files.items():
        place = root / path
        if content is None:
            place.unlink(missing_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
