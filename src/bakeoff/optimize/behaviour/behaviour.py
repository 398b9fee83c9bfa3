"""Judge of behaviour: records a baseline of the original, judges candidates against it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio

from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.baseline_recording import BaselineRecording
from bakeoff.optimize.behaviour.hostile_recording import Hostile, record_hostile
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.behaviour.judging import Judging
from bakeoff.optimize.behaviour.options import DERIVED, BehaviourOptions
from bakeoff.optimize.behaviour.original import Original
from bakeoff.optimize.behaviour.server_pool import ServerPool
from bakeoff.optimize.behaviour.together import Together, functions_besides, with_function
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.errors import BehaviourError
from bakeoff.optimize.target import Target
from bakeoff.process.command import Command
from bakeoff.workspace.slots.slot import Slot


class Behaviour:
    """Judges with servers that it keeps; made by `open_behaviour`.

    Candidates may be judged side by side, each in a slot of its own.

    Attributes:
        options: how it is judged.
    """

    def __init__(self, options: BehaviourOptions) -> None:
        self.options = options
        self._servers = ServerPool(options)
        self._beside: dict[tuple[str, Target], Baseline | BehaviourError] = {}
        self._hostile: dict[tuple[str, Target], Hostile] = {}
        self._preparing = anyio.Lock()

    async def prepare(self, slots: Sequence[Slot], target: Target) -> Baseline:
        """Find the tests that reach `target`, and what the original does in them.

        Args:
            slots: one, or two to ask it side by side, each as the snapshot has it; they stay so where changes end
                with each evaluation.
            target: the function.

        Cancelled, all processes are ended.

        Passes on TargetError: there is no such function. Passes on BehaviourError: no test reaches it, or none can be
        run, or what it does is not the same from run to run. Passes on SandboxError: the machine cannot give the
        protection that was asked for.
        """
        return await BaselineRecording(self._servers, slots, target).run()

    async def judge(self, slot: Slot, baseline: Baseline, candidate: Candidate) -> Judgement:
        """Whether `candidate` behaves as the original.

        Where it changes further public functions of the target's file, each is judged as a target of its own.

        Args:
            slot: as the snapshot has it, and in use for nothing else.
            baseline: of `prepare`, with the same options.
            candidate: files to take in place of the snapshot's.

        Cancelled, all processes are ended.

        Passes on BehaviourError: no server can be started.
        """
        path = baseline.target.path
        names = functions_besides(baseline, candidate)
        found = {name: await self._baseline_beside(slot, baseline, Target(path, name)) for name in names}
        others = {name: one for name, one in found.items() if isinstance(one, Baseline)}
        refused = {name: str(why) for name, why in found.items() if isinstance(why, BehaviourError)}
        together = Together(frozenset([*others, baseline.target.qualname] if others else []), refused)
        hostile = await self._hostile_calls(slot, baseline) if candidate.by_rules else Hostile()
        judgement = await Judging(self._servers, slot, baseline, candidate, together, hostile).run()
        for name, other in others.items():
            if judgement.same:
                beside = await Judging(self._servers, slot, other, candidate, replace(together, first=False)).run()
                judgement = with_function(judgement, name, beside)
        return judgement

    async def _baseline_beside(self, slot: Slot, baseline: Baseline, target: Target) -> Baseline | BehaviourError:
        """Baseline of another function of the target's file, made once; why there is none."""
        key = baseline.tree, target
        async with self._preparing:
            if key not in self._beside:
                try:
                    self._beside[key] = await BaselineRecording(self._servers, [slot], target).run()
                except BehaviourError as failure:
                    self._beside[key] = failure
            return self._beside[key]

    async def _hostile_calls(self, slot: Slot, baseline: Baseline) -> Hostile:
        """Hostile calls of the target, recorded once, where derived inputs are asked for."""
        if self.options.inputs != DERIVED or not self.options.derived:
            return Hostile()
        key = baseline.tree, baseline.target
        async with self._preparing:
            if key not in self._hostile:
                original = Original(self._servers, [await self._servers.process_pair(slot)], self.options)
                self._hostile[key] = await record_hostile(original, baseline)
            return self._hostile[key]

    async def interpreter(self, slot: Slot, memory: int, reads: Sequence[str], env: Mapping[str, str]) -> Command:
        """The project's interpreter in the slot's sandbox, as a command that arguments are still to be added to.

        Args:
            slot: where.
            memory: bytes that each of its processes may take.
            reads: places that it may see besides.
            env: further variables.

        Passes on BehaviourError: there is none. Passes on SandboxError.
        """
        return await self._servers.interpreter(slot, memory, reads, env)

    async def close(self) -> None:
        """End all processes."""
        await self._servers.close()


@asynccontextmanager
async def open_behaviour(options: BehaviourOptions | None = None) -> AsyncIterator[Behaviour]:
    """A judge of behaviour; its processes are gone when this is left."""
    made = Behaviour(options or BehaviourOptions())
    try:
        yield made
    finally:
        await made.close()
