"""Comparison of a candidate with the original: the runs of both, made into differences and one judgement."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour.baseline import Baseline, Recorded
from bakeoff.optimize.behaviour.differences import (
    UNSEEN,
    arguments_of,
    comparable,
    losses,
    of_call,
    of_loss,
    of_process,
    of_test,
    same,
)
from bakeoff.optimize.behaviour.inside.later import LAZY, MOVED
from bakeoff.optimize.behaviour.judgement import Difference, Judgement
from bakeoff.optimize.behaviour.observable import is_as_left
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.runs import Replay, TestRun, Watched

GRAVE = frozenset(reasons.PRECEDENCE[: reasons.PRECEDENCE.index(reasons.FLAKY)])
"""Reasons that end a judging at once; other evidence could only be less grave."""
ENDING = frozenset({reasons.TIMEOUT, reasons.CRASH})
"""Reasons after which no call is made once more."""
UNTOLD = frozenset({reasons.INCOMPARABLE, reasons.OUTPUT_LIMIT})
"""Of a call whose result has no bytes its test could not be told: that it failed says nothing."""
TOLD = 20
"""Differences of one candidate that are told."""
ON_DERIVED, ON_RECORDED = "derived input", "recorded call"
ON_REUSED = "called with an object of an earlier call that was changed since"
ON_HOSTILE = "hostile input"
ON_LATER = "used by its caller after the call"
AFTER_ALL = "after all calls"


@dataclass(slots=True)
class Comparison:
    """Evidence on one candidate, collected run by run; `judgement` sums it up.

    Its methods that take runs block: call them in threads.

    Attributes:
        baseline: the original.
        options: which parts of a call are compared.
        differences: from the original, as they were found.
        wrote: files of the project that it changed.
        peak: bytes of memory.
        processes: that it was run in.
        tests: that were run with it; `passed` of them passed.
        compared: calls of tests.
        repeated: recorded calls that were made once more.
        derived: derived calls.
        hostile_compared: hostile calls.
        here: tests that were run in its own process.
        known_in_process: what all tests do besides with the original in their process; `wrote_in_process` files.
        made: arguments of the calls that were made in tests: one that fails ends its test, so that others are not made.
    """

    baseline: Baseline
    options: BehaviourOptions
    differences: list[Difference] = field(default_factory=list)
    wrote: set[str] = field(default_factory=set)
    peak: int = 0
    processes: int = 0
    tests: int = 0
    passed: int = 0
    compared: int = 0
    repeated: int = 0
    derived: int = 0
    hostile_compared: int = 0
    here: list[str] = field(default_factory=list)
    made: set[bytes] = field(default_factory=set)
    known_in_process: set[tuple[str, str]] = field(default_factory=set)
    wrote_in_process: set[str] = field(default_factory=set)
    _in_tests: set[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._in_tests = {
            call.before
            for name, calls in self.baseline.expected.items()
            if name not in self.baseline.unrepeatable
            for call in calls
        }

    @property
    def grave(self) -> bool:
        """Whether there is evidence that ends the judging."""
        return any(difference.reason in GRAVE for difference in self.differences)

    @property
    def stopped(self) -> bool:
        """Whether the candidate was lost at a call."""
        return any(difference.reason in ENDING for difference in self.differences)

    def add(self, reason: str, where: str, detail: str) -> None:
        """Take down a difference that is not one of a call."""
        self.differences.append(Difference(reason, where, "", detail))

    def watch(
        self,
        watched: Watched | None,
        where: str,
        known: Collection[tuple[str, str]] = (),
        written: Collection[str] = (),
    ) -> None:
        """Take over what was seen of a process.

        Args:
            watched: what was seen.
            where: for the differences.
            known: what the original's process does there besides.
            written: files of the project that it changes there besides.
        """
        if watched is None:
            return
        baseline = self.baseline
        self.processes += 1
        self.peak = max(self.peak, watched.peak)
        self.wrote |= set(watched.wrote)
        seen = of_process(watched, [*baseline.evidence, *known], where)
        if baseline.leaves:
            seen = [one for one in seen if one.reason != reasons.PROCESS_LEAK]
        self.differences += seen
        before = {*baseline.wrote, *written}
        folders = {os.path.dirname(path) for path in before}
        strange = [path for path in watched.wrote if path not in before and os.path.dirname(path) not in folders]
        if strange and not watched.ended:
            self.add(reasons.FS_ESCAPE, where, f"it changes files of the project: {', '.join(strange[:5])}")

    # The tests, with the function in another process

    def tests_out_of_process(self, run: TestRun, wanted: Mapping[str, float]) -> None:
        """Compare a run of the tests named in `wanted`, made with the function in another process."""
        self.watch(run.candidate, "")
        self.differences += losses(run)
        if run.forged or (run.end is None and run.lost is None and run.unready is None):
            why = run.watched.how if run.late is None else f"{run.late} did not end"
            self.add(reasons.INVALID, "", f"the tests gave no whole report: {why}")
            return
        if run.unready is not None:
            return
        lost = run.lost[1] if run.lost is not None else None
        for name in wanted:
            if name == lost:
                break
            self._test(run, name)
        else:
            missing = [name for name in wanted if name not in run.tests or run.tests[name].outcome == "incomplete"]
            if missing:
                detail = f"the session stopped early: {len(missing)} tests have no result"
                self.add(reasons.MISSING, missing[0], detail)

    def _test(self, run: TestRun, name: str) -> None:
        baseline = self.baseline
        test = run.tests.get(name)
        if test is None or test.outcome == "incomplete":
            return
        self.tests += 1
        calls = run.calls.get(name, [])
        self.made |= {call.before for call in calls}
        before = len(self.differences)
        if name not in baseline.unrepeatable:
            self.compared += len(calls)
            self.differences += of_test(name, baseline.expected[name], calls, self.options)
        elif not calls:
            self.add(reasons.MISSING, name, "no call at all")
        if test.outcome == "passed":
            self.passed += 1
        elif not any(one.reason in UNTOLD for one in self.differences[before:]):
            detail = f"it {test.outcome}: {test.message.strip()[-600:]}"
            self.add(reasons.TEST_FAILED, name, detail)

    # Calls once more

    def replays(self, runs: Sequence[Replay], recorded: Sequence[Recorded], failed_before: bool) -> None:
        """Compare calls made once more, in several processes, with the original and with each other."""
        differences: list[list[Difference]] = []
        for run in runs:
            own: list[Difference] = []
            for call, answer in zip(recorded, run.calls, strict=False):
                where = ON_DERIVED if call.derived else ON_RECORDED
                difference = of_call(call.expected, answer, where, self.options)
                self.derived += call.derived
                self.repeated += not call.derived
                if difference is not None:
                    own.append(difference)
            if len(run.calls) < len(recorded):
                own += self._stopped(run, recorded)
            differences.append(own)
        if self._is_flaky(differences, failed_before):
            shown = next((own[0] for own in differences if own), self.differences[0] if failed_before else None)
            if shown is not None:
                detail = f"it does not do the same each time: {shown.detail}"
                self.differences.append(Difference(reasons.FLAKY, shown.where, shown.call, detail))
            return
        for one in differences[0]:
            if one.where == ON_DERIVED and one.reason not in GRAVE:
                one = replace(one, reason=reasons.DERIVED, detail=f"{one.reason}: {one.detail}")
            if one.where == ON_DERIVED or one.before not in self._in_tests:
                self.differences.append(one)

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
        repeated -= {one.before for own in (self.differences, *on_recorded) for one in own if UNSEEN in one.detail}
        during = {(one.before, one.detail) for one in self.differences if one.before in repeated}
        if not during or len({call for call, _ in during}) < len(during):
            return False  # the same arguments gave different things in one process: that is no chance
        made = self.made & repeated
        return any({(one.before, one.detail) for one in own if one.before in made} != during for own in on_recorded)

    def reused(self, run: Replay, recorded: Sequence[Recorded]) -> None:
        """Compare calls that were given objects of earlier calls."""
        self._once_more(run, recorded, ON_REUSED, reasons.CROSS_CALL)

    def hostile(self, run: Replay, recorded: Sequence[Recorded]) -> None:
        """Compare hostile calls, with what came of them when the original was given the same."""
        self.hostile_compared += len(run.calls)
        self._once_more(run, recorded, ON_HOSTILE, reasons.DERIVED)

    def _once_more(self, run: Replay, recorded: Sequence[Recorded], where: str, reason: str) -> None:
        """Compare calls made in one further process; whatever differs there has the same reason."""
        for call, answer in zip(recorded, run.calls, strict=False):
            one = of_call(call.expected, answer, where, self.options)
            if one is not None:
                self.differences.append(replace(one, reason=reason, detail=f"{one.reason}: {one.detail}"))
        if len(run.calls) < len(recorded):
            self.differences += self._stopped(run, recorded)

    def used_later(self, run: Replay, places: Sequence[int]) -> None:
        """Compare calls whose results were used as callers may; `places` are theirs in the recorded calls."""
        recorded = [self.baseline.recorded[place] for place in places]
        for place, call, answer in zip(places, recorded, run.calls, strict=False):
            expected = self.baseline.later[place]
            if same(expected, answer, self.options) and expected.message == answer.message:
                continue
            reason, detail = reasons.CROSS_CALL, "when its caller has changed what it got, the same call gives it again"
            if answer.message == MOVED:
                detail = "a later call changes what an earlier one gave"
            elif expected.message == LAZY:
                reason, detail = reasons.RETURN, "read after its arguments were changed, it gives something else"
            self.differences.append(Difference(reason, ON_LATER, arguments_of(call.before), detail, call.before))
        if len(run.calls) < len(recorded):
            self.differences += self._stopped(run, recorded)

    def state(self, runs: Sequence[Replay], recorded: Sequence[Recorded]) -> None:
        """Compare the state around the target after all calls: containers of modules, environment, and alike."""
        if len(recorded) < len(self.baseline.recorded):
            return
        for run in runs:
            told = run.state or {}
            state = self.baseline.state.items()
            changed = [name for name, digest in state if not is_as_left(digest, told.get(name, ""))]
            if run.state is not None and changed:
                detail = f"{', '.join(changed[:5])}: not as the same calls of the original leave it"
                self.differences.append(Difference(reasons.MUTATION, AFTER_ALL, "", detail))
                return

    def _stopped(self, run: Replay, recorded: Sequence[Recorded]) -> list[Difference]:
        """The process was lost at a call."""
        call = recorded[len(run.calls)]
        where = ON_DERIVED if call.derived else ON_RECORDED
        if run.unready is not None:
            return losses(run, where)
        one = of_loss(run.lost or "ended", where, arguments_of(call.before), run.watched)
        return [replace(one, before=call.before)]

    # The tests, in the candidate's process

    def is_odd_in_process(self, run: TestRun, others: Collection[str]) -> bool:
        """Whether a run does what the original was not seen to do, or some of `others`, which do not reach it, fail."""
        watched, baseline = run.watched, self.baseline
        known = {*baseline.evidence, *baseline.evidence_here}
        failing = any(name not in run.tests or run.tests[name].outcome != "passed" for name in others)
        return failing or not known.issuperset(watched.evidence) or not baseline.wrote.issuperset(watched.wrote)

    def tests_in_process(self, run: TestRun, wanted: Mapping[str, float]) -> None:
        """Compare a run of the tests named in `wanted`, made in the candidate's own process."""
        baseline = self.baseline
        known = {*baseline.evidence_here, *self.known_in_process}
        self.watch(run.watched, "in process", known, self.wrote_in_process)
        if run.forged:
            self.add(reasons.TAMPERING, "in process", "it wrote false reports")
        if run.late is not None:
            self.add(reasons.TIMEOUT, run.late, "it did not return in time")
        elif run.end is None:
            self.add(reasons.CRASH, "in process", f"the tests did not come to an end: {run.watched.how}")
        elif not run.tests and run.uncollected:
            message = next(iter(run.uncollected.values()))
            self.add(reasons.IMPORT_FAILURE, "in process", message.strip()[-600:])
        for name in wanted:
            test = run.tests.get(name)
            if test is None or test.outcome == "incomplete":
                if run.end is not None:
                    self.add(reasons.MISSING, name, "it has no result")
                continue
            self.tests += 1
            self.passed += test.outcome == "passed"
            if test.outcome != "passed":
                detail = f"it {test.outcome}: {test.message.strip()[-600:]}"
                self.add(reasons.TEST_FAILED, name, detail)
            if name in baseline.here:
                self._calls_in_process(run, name, test.printed)

    def _calls_in_process(self, run: TestRun, name: str, printed: tuple[str, ...]) -> None:
        if name in self.baseline.unrepeatable:
            return
        expected = comparable(self.baseline.here[name])
        calls = comparable(run.calls.get(name, []))
        if len(self.baseline.here[name]) != len(run.calls.get(name, [])):
            self.add(reasons.MISSING, name, "calls are missing, or are more")
        elif len(expected) == len(calls):
            self.compared += len(calls)
            self.differences += of_test(name, expected, calls, self.options)
        if self.baseline.printed.get(name, printed) != printed:
            self.add(reasons.STDOUT, name, "the test printed something else")

    # The end

    def judgement(self, candidate: str) -> Judgement:
        """Judgement on the candidate with this id: the gravest reason, and the receipt."""
        baseline = self.baseline
        reason = reasons.first(one.reason for one in self.differences)
        ordered = sorted(self.differences, key=lambda one: reasons.PRECEDENCE.index(one.reason))[:TOLD]
        judged = "out of process" if baseline.tests else "not at all"
        if self.here:
            judged = "in-process" if not baseline.tests else "out of process and in-process"
        receipt = {
            **baseline.receipt(),
            "candidate": candidate,
            "judged": judged,
            "judged_in_process": self.here[:50],
            "tests_run": self.tests,
            "tests_passed": self.passed,
            "calls_compared": self.compared,
            "recorded_repeated": self.repeated,
            "derived_compared": self.derived,
            "hostile_compared": self.hostile_compared,
            "processes": self.processes,
            "peak_memory": self.peak,
            "wrote": sorted(self.wrote)[:20],
            "mode": "cold" if self.options.cold else "warm",
        }
        detail = str(ordered[0]) if ordered else f"{self.compared} calls of {self.tests} tests, {self.derived} derived"
        return Judgement(reason, detail, receipt, tuple(ordered))
