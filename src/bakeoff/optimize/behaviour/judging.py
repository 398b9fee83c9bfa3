"""Judges one candidate: the tests with its function in another process, then calls once more, in several processes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from bakeoff.judge.protected import USUAL
from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour.baseline import Baseline, Recorded, job_of_tests
from bakeoff.optimize.behaviour.changed import changed_besides, is_public
from bakeoff.optimize.behaviour.differences import (
    UNSEEN,
    Difference,
    arguments_of,
    comparable,
    losses,
    of_call,
    of_loss,
    of_test,
)
from bakeoff.optimize.behaviour.discovering import SEEDS
from bakeoff.optimize.behaviour.evaluation import Files, Place, replay, run_tests
from bakeoff.optimize.behaviour.judgement import GRAVE, Found, Judgement
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.runs import Replay, TestRun
from bakeoff.optimize.behaviour.stage import Stage, sources_of
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.errors import InvalidCandidateError, TargetError
from bakeoff.optimize.signature import check_signature
from bakeoff.optimize.target import locate
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.slots.slot import Slot

ENDING = frozenset({reasons.TIMEOUT, reasons.CRASH})
UNTOLD = frozenset({reasons.INCOMPARABLE, reasons.OUTPUT_LIMIT})
"""Of a call whose result has no bytes its test could not be told: that it failed says nothing."""
RERUNS = 3
"""How often tests go on after one at which the candidate's process was lost."""
ON_DERIVED, ON_RECORDED = "derived input", "recorded call"
ON_REUSED = "called with an object of an earlier call that was changed since"


class Judging:
    """The way to one judgement."""

    def __init__(self, stage: Stage, slot: Slot, baseline: Baseline, candidate: Candidate) -> None:
        self.stage = stage
        self.slot = slot
        self.baseline = baseline
        self.candidate = candidate
        self.options: BehaviourOptions = stage.options
        self.found = Found()
        self.files: Files = {}
        self.overrides: dict[str, bytes] = {}
        self._in_tests = {
            call.before
            for name, calls in baseline.expected.items()
            if name not in baseline.unrepeatable
            for call in calls
        }

    async def run(self) -> Judgement:
        """See `Behaviour.judge`."""
        protection = USUAL.within(self.slot.base.entries.files)
        touched = [path for path in self.candidate.files if protection.covers(path)]
        if touched:
            detail = f"it changes tests or what configures them: {', '.join(touched[:5])}"
            self.found.add(reasons.INVALID, "", detail)
            return self._judgement()
        place = await self.stage.place(self.slot)
        memory = max(self.options.memory, 4 * self.baseline.peak)
        candidate_place = await self.stage.place(self.slot, memory)
        async with self._applied(place):
            await self._judge(place, candidate_place)
        return self._judgement()

    def _judgement(self) -> Judgement:
        return self.found.judgement(self.baseline, self.candidate.id, "cold" if self.options.cold else "warm")

    async def _judge(self, place: Place, candidate_place: Place) -> None:
        found = self.found
        if self.baseline.tests:
            await self._out_of_process(place, candidate_place)
        if found.grave:
            return
        if not any(one.reason in ENDING for one in found.differences):
            await self._once_more(candidate_place)
        if not found.differences:
            self._signature()
        if not found.differences:
            await self._in_process(place)

    def _signature(self) -> None:
        """Callers that no test shows must be able to call it as before."""
        own = self.candidate.files.get(str(self.baseline.target.path))
        try:
            if own is not None:
                qualname = self.baseline.target.qualname
                check_signature(locate(self.baseline.source, qualname).node, locate(own, qualname).node)
        except TargetError:
            return  # it is made in another way: only calls can tell
        except InvalidCandidateError as failure:
            self.found.add(reasons.INVALID, "", str(failure))

    # The tests, with the function in another process

    async def _out_of_process(self, place: Place, candidate_place: Place) -> None:
        wanted = dict(self.baseline.tests)
        for _ in range(RERUNS):
            run = await self._tests_with(place, candidate_place, wanted)
            await in_thread(self._compare, run, wanted)
            if run.lost is None or run.lost[0] != "timeout" or self.found.grave:
                return
            names = list(wanted)
            after = names[names.index(run.lost[1]) + 1 :] if run.lost[1] in wanted else []
            wanted = {name: wanted[name] for name in after}
            if not wanted:
                return

    async def _tests_with(self, place: Place, candidate_place: Place, wanted: Mapping[str, float]) -> TestRun:
        baseline = self.baseline
        async with self.stage.server(SEEDS[0]) as server:
            return await run_tests(
                server,
                place,
                self._job(place, "proxy", wanted),
                serve=baseline.serve(self.options, place.root),
                files=self.files,
                overrides=self.overrides,
                candidate_place=candidate_place,
            )

    def _job(self, place: Place, mode: str, wanted: Mapping[str, float]) -> dict[str, Any]:
        baseline = self.baseline
        return job_of_tests(
            baseline.target,
            place.root,
            sources_of(place),
            self.options,
            mode,
            wanted=wanted,
            module=baseline.module,
            doctests=b">>>" in baseline.source,
        )

    def _compare(self, run: TestRun, wanted: Mapping[str, float]) -> None:
        found, baseline = self.found, self.baseline
        found.watch(run.candidate, baseline, "")
        found.differences += losses(run)
        if run.forged or (run.end is None and run.lost is None and run.unready is None):
            why = run.watched.how if run.late is None else f"{run.late} did not end"
            found.add(reasons.INVALID, "", f"the tests gave no whole report: {why}")
            return
        if run.unready is not None:
            return
        lost = run.lost[1] if run.lost is not None else None
        for name in wanted:
            if name == lost:
                break
            self._compare_test(run, name)
        else:
            missing = [name for name in wanted if name not in run.tests or run.tests[name].outcome == "incomplete"]
            if missing:
                detail = f"the session stopped early: {len(missing)} tests have no result"
                found.add(reasons.MISSING, missing[0], detail)

    def _compare_test(self, run: TestRun, name: str) -> None:
        found, baseline = self.found, self.baseline
        test = run.tests.get(name)
        if test is None or test.outcome == "incomplete":
            return
        found.tests += 1
        calls = run.calls.get(name, [])
        found.made |= {call.before for call in calls}
        before = len(found.differences)
        if name not in baseline.unrepeatable:
            found.compared += len(calls)
            found.differences += of_test(name, baseline.expected[name], calls, self.options)
        elif not calls:
            found.add(reasons.MISSING, name, "no call at all")
        if test.outcome == "passed":
            found.passed += 1
        elif not any(one.reason in UNTOLD for one in found.differences[before:]):
            detail = f"it {test.outcome}: {test.message.strip()[-600:]}"
            found.add(reasons.TEST_FAILED, name, detail)

    # Calls once more

    async def _once_more(self, place: Place) -> None:
        """Recorded and derived calls, in further processes: does it agree with the original, and with itself?"""
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
            run = await self._replayed(place, recorded, seed)
            runs.append(run)
            self.found.watch(run.watched, self.baseline, "calls made once more")
            if self.found.grave:
                return
        await in_thread(self._compare_replays, runs, recorded, failed_before)
        if self.baseline.reusable and not self.found.differences:
            await self._with_earlier_objects(place, recorded)

    async def _with_earlier_objects(self, place: Place, recorded: Sequence[Recorded]) -> None:
        """The calls with arguments that are objects of earlier calls: are old answers given?"""
        run = await self._replayed(place, recorded, SEEDS[0], reuse=True)
        self.found.watch(run.watched, self.baseline, ON_REUSED)
        await in_thread(self._compare_reused, run, recorded)

    def _compare_reused(self, run: Replay, recorded: Sequence[Recorded]) -> None:
        found, options = self.found, self.options
        for call, answer in zip(recorded, run.calls, strict=False):
            one = of_call(call.expected, answer, ON_REUSED, options)
            if one is not None:
                found.differences.append(replace(one, reason=reasons.CROSS_CALL, detail=f"{one.reason}: {one.detail}"))
        if len(run.calls) < len(recorded):
            found.differences += self._stopped(run, recorded)

    async def _replayed(self, place: Place, recorded: Sequence[Recorded], seed: int, *, reuse: bool = False) -> Replay:
        limit = self.options.time_limit
        calls = [
            (call.before, limit(call.expected.seconds) if not call.derived else max(2.0, 20 * call.expected.seconds))
            for call in recorded
        ]
        serve = {**self.baseline.serve(self.options, place.root), "reuse": reuse}
        async with self.stage.server(seed) as server:
            return await replay(server, place, serve, calls, files=self.files)

    def _compare_replays(self, runs: Sequence[Replay], recorded: Sequence[Recorded], failed_before: bool) -> None:
        found, options = self.found, self.options
        differences: list[list[Difference]] = []
        for run in runs:
            own: list[Difference] = []
            for call, answer in zip(recorded, run.calls, strict=False):
                where = ON_DERIVED if call.derived else ON_RECORDED
                difference = of_call(call.expected, answer, where, options)
                found.derived += call.derived
                found.repeated += not call.derived
                if difference is not None:
                    own.append(difference)
            if len(run.calls) < len(recorded):
                own += self._stopped(run, recorded)
            differences.append(own)
        if self._is_flaky(differences, failed_before):
            shown = next((own[0] for own in differences if own), found.differences[0] if failed_before else None)
            if shown is not None:
                detail = f"it does not do the same each time: {shown.detail}"
                found.differences.append(Difference(reasons.FLAKY, shown.where, shown.call, detail))
            return
        for one in differences[0]:
            if one.where == ON_DERIVED and one.reason not in GRAVE:
                one = replace(one, reason=reasons.DERIVED, detail=f"{one.reason}: {one.detail}")
            if one.where == ON_DERIVED or one.before not in self._in_tests:
                found.differences.append(one)

    def _is_flaky(self, differences: Sequence[Sequence[Difference]], failed_before: bool) -> bool:
        """Whether the same call gave different things: in a test and once more, or in two processes."""
        in_tests = [[one for one in own if one.before in self._in_tests] for own in differences]
        if failed_before:
            return self._disagrees(in_tests)
        others = {
            tuple((one.before, one.detail) for one in own if one not in known)
            for own, known in zip(differences, in_tests, strict=True)
        }
        return any(in_tests) or len(others) > 1

    def _disagrees(self, on_recorded: Sequence[Sequence[Difference]]) -> bool:
        """Whether calls that were made in a test and once more did not give the same both times."""
        repeated = {call.before for call in self.baseline.recorded if not call.derived}
        # What is known by a digest in one place and whole in the other is said in other words.
        repeated -= {
            one.before for own in (self.found.differences, *on_recorded) for one in own if UNSEEN in one.detail
        }
        during = {(one.before, one.detail) for one in self.found.differences if one.before in repeated}
        if not during or len({call for call, _ in during}) < len(during):
            return False  # the same arguments gave different things in one process: that is no chance
        made = self.found.made & repeated
        return any({(one.before, one.detail) for one in own if one.before in made} != during for own in on_recorded)

    def _stopped(self, run: Replay, recorded: Sequence[Recorded]) -> list[Difference]:
        """The process was lost at a call."""
        call = recorded[len(run.calls)]
        where = ON_DERIVED if call.derived else ON_RECORDED
        if run.unready is not None:
            return losses(run, where)
        one = of_loss(run.lost or "ended", where, arguments_of(call.before), run.watched)
        return [replace(one, before=call.before)]

    # In the candidate's process

    async def _in_process(self, place: Place) -> None:
        """What cannot be judged out of process: tests whose values have no bytes, other things that it changes."""
        baseline, found = self.baseline, self.found
        own = self.candidate.files.get(str(baseline.target.path))
        besides = changed_besides(baseline.source, own, baseline.target.qualname) if own is not None else []
        besides += [path for path in self.candidate.files if path != str(baseline.target.path)]
        public = [name for name in besides if is_public(name)]
        wanted = {name: baseline.passing.get(name, 0.0) for name in baseline.in_process}
        if besides:
            wanted = {**baseline.passing, **wanted}
        if not wanted:
            return
        if (public or baseline.in_process) and not self.options.trust:
            what = f"it also changes {', '.join(public[:3])}" if public else _why(baseline.in_process)
            detail = f"{what}: that can be judged only in the candidate's own process, which needs --trust"
            found.add(reasons.INCOMPARABLE, "", detail)
            return
        found.here = sorted(baseline.in_process) if not besides else sorted(wanted)
        async with self.stage.server(SEEDS[0]) as server:
            job = self._job(place, "record", wanted)
            run = await run_tests(server, place, job, own=self.files, watched=True)
        await in_thread(self._compare_here, run, wanted)

    def _compare_here(self, run: TestRun, wanted: Mapping[str, float]) -> None:
        found, baseline = self.found, self.baseline
        found.watch(run.watched, baseline, "in process", baseline.evidence_here)
        if run.forged:
            found.add(reasons.TAMPERING, "in process", "it wrote false reports")
        if run.late is not None:
            found.add(reasons.TIMEOUT, run.late, "it did not return in time")
        elif run.end is None:
            found.add(reasons.CRASH, "in process", f"the tests did not come to an end: {run.watched.how}")
        elif not run.tests and run.uncollected:
            message = next(iter(run.uncollected.values()))
            found.add(reasons.IMPORT_FAILURE, "in process", message.strip()[-600:])
        for name in wanted:
            test = run.tests.get(name)
            if test is None or test.outcome == "incomplete":
                if run.end is not None:
                    found.add(reasons.MISSING, name, "it has no result")
                continue
            found.tests += 1
            found.passed += test.outcome == "passed"
            if test.outcome != "passed":
                detail = f"it {test.outcome}: {test.message.strip()[-600:]}"
                found.add(reasons.TEST_FAILED, name, detail)
            if name in baseline.here:
                self._compare_calls_here(run, name, test.printed)

    def _compare_calls_here(self, run: TestRun, name: str, printed: tuple[str, ...]) -> None:
        if name in self.baseline.unrepeatable:
            return
        expected = comparable(self.baseline.here[name])
        calls = comparable(run.calls.get(name, []))
        if len(self.baseline.here[name]) != len(run.calls.get(name, [])):
            self.found.add(reasons.MISSING, name, "calls are missing, or are more")
        elif len(expected) == len(calls):
            self.found.compared += len(calls)
            self.found.differences += of_test(name, expected, calls, self.options)
        if self.baseline.printed.get(name, printed) != printed:
            self.found.add(reasons.STDOUT, name, "the test printed something else")

    # Applying

    @asynccontextmanager
    async def _applied(self, place: Place) -> AsyncIterator[None]:
        """Have the candidate's files where its process sees them, byte for byte."""
        if place.apart:
            self.files = dict(self.candidate.files)
            yield
            return
        before = {path: await in_thread(_read, self.slot.outside / path) for path in self.candidate.files}
        self.overrides = {
            os.path.realpath(os.path.join(place.root, path)): content
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
