"""Judging of one candidate: the tests with its function in another process, then replays of recorded calls."""

from __future__ import annotations

import ast
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from bakeoff.judge.checks.protected import USUAL
from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour.baseline import Baseline, Recorded, job_of_tests, names_of
from bakeoff.optimize.behaviour.comparison import ON_HOSTILE, ON_LATER, ON_REUSED, Comparison
from bakeoff.optimize.behaviour.discovery import SEEDS, passed
from bakeoff.optimize.behaviour.evaluation import CandidateProcess, Files, ProcessConfig, replay, run_tests
from bakeoff.optimize.behaviour.hostile_recording import Hostile
from bakeoff.optimize.behaviour.inside.serving import LATER, ONCE, REUSE
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.runs import Replay, TestRun
from bakeoff.optimize.behaviour.server_pool import ServerPool
from bakeoff.optimize.behaviour.together import Together
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.errors import InvalidCandidateError, TargetError
from bakeoff.optimize.source_code.changes import changed_besides, is_public
from bakeoff.optimize.source_code.definitions import Definition, counterpart, locate
from bakeoff.optimize.source_code.signature import check_decorators, check_signature
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.slots.slot import Slot

RERUNS = 3
"""How often tests go on after one at which the candidate's process was lost."""


class Judging:
    """One judgement in the making."""

    def __init__(
        self,
        servers: ServerPool,
        slot: Slot,
        baseline: Baseline,
        candidate: Candidate,
        together: Together = Together(),  # noqa: B008 - it cannot be changed
        hostile: Hostile = Hostile(),  # noqa: B008 - it cannot be changed
    ) -> None:
        self.servers = servers
        self.slot = slot
        self.baseline = baseline
        self.candidate = candidate
        self.together = together
        self.hostile = hostile
        self.options: BehaviourOptions = servers.options
        self.found = Comparison(baseline, self.options)
        self.added = baseline.added_by(candidate.files)
        self.files: Files = {}
        self.overrides: dict[str, bytes] = {}

    async def run(self) -> Judgement:
        """See `Behaviour.judge`."""
        protection = USUAL.within(self.slot.base.entries.files)
        touched = [path for path in self.candidate.files if protection.covers(path)]
        if touched:
            detail = f"it changes tests or what configures them: {', '.join(touched[:5])}"
            self.found.add(reasons.INVALID, "", detail)
            return self.found.judgement(self.candidate.id)
        config = await self.servers.process_config(self.slot)
        memory = max(self.options.memory, 4 * self.baseline.peak)
        candidate_config = await self.servers.process_config(self.slot, memory)
        async with self._applied(config):
            await self._judge(config, candidate_config)
        return self.found.judgement(self.candidate.id)

    async def _judge(self, config: ProcessConfig, candidate_config: ProcessConfig) -> None:
        found = self.found
        if self.baseline.tests:
            await self._tests_out_of_process(config, candidate_config)
        if found.grave:
            return
        if not found.stopped:
            await self._replays(candidate_config)
        if not found.differences:
            self._signature()
        if not found.differences:
            await self._tests_in_process(config)

    def _signature(self) -> None:
        """Callers that no test shows must be able to call it as before."""
        baseline = self.baseline
        own = self.candidate.files.get(str(baseline.target.path))
        try:
            if own is None:
                return
            try:
                one, other = counterpart(baseline.source, own, baseline.target.qualname, baseline.line)
                check_signature(one.node, other.node)
                check_decorators(one.node, other.node)
                if baseline.inner and ast.dump(_decorators(one)) != ast.dump(_decorators(other)):
                    self.found.add(reasons.INVALID, "", "its decorators are others, by which the tests come to it")
            except TargetError:  # it is made in another way: of the rest only calls can tell
                check_decorators(locate(baseline.source, baseline.target.qualname).node, None)
        except TargetError:
            return
        except InvalidCandidateError as failure:
            self.found.add(reasons.INVALID, "", str(failure))

    # The tests, with the function in another process

    async def _tests_out_of_process(self, config: ProcessConfig, candidate_config: ProcessConfig) -> None:
        wanted = dict(self.baseline.tests)
        for _ in range(RERUNS):
            run = await self._tests_with(config, candidate_config, wanted)
            await in_thread(self.found.tests_out_of_process, run, wanted)
            if run.lost is None or run.lost[0] != "timeout" or self.found.grave:
                return
            names = list(wanted)
            after = names[names.index(run.lost[1]) + 1 :] if run.lost[1] in wanted else []
            wanted = {name: wanted[name] for name in after}
            if not wanted:
                return

    async def _tests_with(
        self, config: ProcessConfig, candidate_config: ProcessConfig, wanted: Mapping[str, float]
    ) -> TestRun:
        async with self.servers.server(SEEDS[0]) as server:
            return await run_tests(
                server,
                config,
                self._job(config, "proxy", wanted),
                candidate=CandidateProcess(self._serve(config), candidate_config, self.files),
                overrides=self.overrides,
            )

    def _job(self, config: ProcessConfig, mode: str, wanted: Mapping[str, float]) -> dict[str, Any]:
        baseline = self.baseline
        job = job_of_tests(
            baseline.target,
            config,
            self.options,
            mode,
            wanted=wanted,
            module=baseline.module,
            doctests=b">>>" in baseline.source,
            inner=baseline.inner,
        )
        return {**job, "unseen": [*job["unseen"], *names_of(self.added)]}

    def _serve(self, config: ProcessConfig) -> dict[str, Any]:
        serve = self.baseline.serve(self.options, config.root)
        return {**serve, "unseen": [*serve["unseen"], *names_of(self.added)], "added": self.added}

    # Calls once more

    async def _replays(self, config: ProcessConfig) -> None:
        """Replay recorded and derived calls in further processes: does it agree with the original, and with itself?"""
        recorded = self.baseline.recorded
        failed_before = bool(self.found.differences)
        repeats = max(1, self.options.repeats)
        if failed_before:  # only whether it always fails is still to be known
            recorded = [call for call in recorded if not call.derived]
        if not recorded:
            return
        runs = []
        seeds = [SEEDS[(index + 1) % len(SEEDS)] for index in range(repeats)]
        for seed in seeds:
            run = await self._replay(config, recorded, seed)
            runs.append(run)
            self.found.watch(run.watched, "calls made once more")
            if self.found.grave:
                return
        await in_thread(self.found.replays, runs, recorded, failed_before)
        if not self.found.differences:
            self.found.state(runs, recorded)
        if self.baseline.reusable and not self.found.differences:
            await self._replay_with_earlier_objects(config, recorded)
        if self.baseline.later and not self.found.differences:
            await self._replay_with_results_used(config)
        if self.hostile.recorded and not self.found.differences:
            await self._replay_hostile(config)

    async def _replay_with_earlier_objects(self, config: ProcessConfig, recorded: Sequence[Recorded]) -> None:
        """Replay calls with arguments that are objects of earlier calls: is cross-call state used?"""
        run = await self._replay(config, recorded, SEEDS[0], mode=REUSE)
        self.found.watch(run.watched, ON_REUSED)
        await in_thread(self.found.reused, run, recorded)

    async def _replay_with_results_used(self, config: ProcessConfig) -> None:
        """Replay calls whose results are used as callers may: changed, read late, kept while others are made."""
        places = sorted(self.baseline.later)
        run = await self._replay(config, [self.baseline.recorded[place] for place in places], SEEDS[0], mode=LATER)
        self.found.watch(run.watched, ON_LATER)
        await in_thread(self.found.used_later, run, places)

    async def _replay_hostile(self, config: ProcessConfig) -> None:
        """Replay hostile calls: does it hold for values of other kinds than the tests show?"""
        run = await self._replay(config, self.hostile.recorded, SEEDS[0])
        self.found.watch(run.watched, ON_HOSTILE, self.hostile.evidence)
        await in_thread(self.found.hostile, run, self.hostile.recorded)

    async def _replay(
        self, config: ProcessConfig, recorded: Sequence[Recorded], seed: int, *, mode: str = ONCE
    ) -> Replay:
        limit, times = self.options.time_limit, 3 if mode == LATER else 1
        calls = [
            (
                call.before,
                times * (max(2.0, 20 * call.expected.seconds) if call.derived else limit(call.expected.seconds)),
            )
            for call in recorded
        ]
        serve = {**self._serve(config), "mode": mode}
        async with self.servers.server(seed) as server:
            return await replay(server, config, serve, calls, files=self.files)

    # In the candidate's process

    async def _tests_in_process(self, config: ProcessConfig) -> None:
        """Run the tests that cannot be judged out of process: values without bytes, changes besides the target."""
        baseline, found = self.baseline, self.found
        own = self.candidate.files.get(str(baseline.target.path))
        besides: list[str] = []
        if own is not None:
            besides = changed_besides(baseline.source, own, baseline.target.qualname, baseline.line)
        besides += [path for path in self.candidate.files if path != str(baseline.target.path)]
        public = [name for name in besides if is_public(name) and name not in self.together.names]
        wanted = {name: baseline.passing.get(name, 0.0) for name in baseline.in_process}
        if besides and self.together.first:
            wanted = {**baseline.passing, **wanted}
        if not wanted:
            return
        if (public or baseline.in_process) and not self.options.trust:
            what = f"it also changes {', '.join(public[:3])}" if public else _why(baseline.in_process)
            what += "".join(f" ({why})" for name, why in self.together.refused.items() if name in public[:1])
            detail = f"{what}: that can be judged only in the candidate's own process, which needs --trust"
            found.add(reasons.INCOMPARABLE, "", detail)
            return
        run = await self._tests_of(config, wanted)
        others = {name: seconds for name, seconds in wanted.items() if name not in baseline.in_process}
        if others and found.is_odd_in_process(run, others):
            # Of these the original was never watched: what they do, and whether they pass here, is to be known of it.
            original = await self._tests_of(config, wanted, original=True)
            found.known_in_process |= set(original.watched.evidence)
            found.wrote_in_process |= set(original.watched.wrote)
            wanted = {name: seconds for name, seconds in wanted.items() if name not in others or passed(original, name)}
        found.here = sorted(wanted)
        await in_thread(found.tests_in_process, run, wanted)

    async def _tests_of(self, config: ProcessConfig, wanted: Mapping[str, float], *, original: bool = False) -> TestRun:
        """Run tests in the process of the candidate's function, or of the original's."""
        own, overrides = ({}, self.overrides) if original else (self.files, {})
        async with self.servers.server(SEEDS[0]) as server:
            job = self._job(config, "record", wanted)
            return await run_tests(server, config, job, own=own, overrides=overrides, watched=True)

    # Applying

    @asynccontextmanager
    async def _applied(self, config: ProcessConfig) -> AsyncIterator[None]:
        """Have the candidate's files where its process sees them, byte for byte."""
        if config.apart:
            self.files = dict(self.candidate.files)
            yield
            return
        before = {path: await in_thread(_read, self.slot.outside / path) for path in self.candidate.files}
        self.overrides = {
            os.path.realpath(os.path.join(config.root, path)): content
            for path, content in before.items()
            if content is not None and path.endswith(".py")
        }
        try:
            for path, content in self.candidate.files.items():
                await in_thread(_put, self.slot.outside / path, content)
            yield
        finally:
            with anyio.CancelScope(shield=True):
                for path, content in before.items():
                    await in_thread(_put, self.slot.outside / path, content)


def _decorators(definition: Definition) -> ast.Tuple:
    return ast.Tuple(definition.node.decorator_list, ast.Load())


def _why(in_process: Mapping[str, str]) -> str:
    name, why = next(iter(in_process.items()))
    more = f" and {len(in_process) - 1} more" if len(in_process) > 1 else ""
    return f"{name}{more}: {why}"


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
