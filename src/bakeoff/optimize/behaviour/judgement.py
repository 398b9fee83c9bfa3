"""The verdict on one candidate's behaviour, and the evidence that it is made of."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.differences import Difference, of_process
from bakeoff.optimize.behaviour.runs import Watched

GRAVE = frozenset(reasons.PRECEDENCE[: reasons.PRECEDENCE.index(reasons.FLAKY)])
"""What ends a judging at once; other evidence could only be less grave."""
TOLD = 20
"""Differences of one candidate that are told."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a candidate behaves as the original does.

    Attributes:
        reason: why it does not, one of `reasons`; None where no difference was found.
        detail: the same in a sentence.
        receipt: the evidence; JSON types only.
        differences: what was found, the gravest first; for those who repair.
    """

    reason: str | None
    detail: str
    receipt: Mapping[str, Any]
    differences: tuple[Difference, ...] = ()

    @property
    def same(self) -> bool:
        """Whether no difference was found."""
        return self.reason is None


@dataclass(slots=True)
class Found:
    """The evidence on one candidate so far.

    Attributes:
        differences: from the original, as they were found.
        wrote: files of the project that it changed.
        peak: bytes of memory.
        processes: that it was run in.
        tests: that were run with it; `passed` of them passed.
        compared: calls of tests.
        repeated: recorded calls that were made once more.
        derived: derived calls.
        here: tests that were run in its own process.
        made: arguments of the calls that were made in tests: one that fails ends its test, so that others are not made.
    """

    differences: list[Difference] = field(default_factory=list)
    wrote: set[str] = field(default_factory=set)
    peak: int = 0
    processes: int = 0
    tests: int = 0
    passed: int = 0
    compared: int = 0
    repeated: int = 0
    derived: int = 0
    here: list[str] = field(default_factory=list)
    made: set[bytes] = field(default_factory=set)

    @property
    def grave(self) -> bool:
        """Whether there is evidence that ends the judging."""
        return any(difference.reason in GRAVE for difference in self.differences)

    def add(self, reason: str, where: str, detail: str) -> None:
        """Take down a difference that is not one of a call."""
        self.differences.append(Difference(reason, where, "", detail))

    def watch(
        self, watched: Watched | None, baseline: Baseline, where: str, known: Collection[tuple[str, str]] = ()
    ) -> None:
        """Take over what was seen of a process."""
        if watched is None:
            return
        self.processes += 1
        self.peak = max(self.peak, watched.peak)
        self.wrote |= set(watched.wrote)
        seen = of_process(watched, [*baseline.evidence, *known], where)
        if baseline.leaves:
            seen = [one for one in seen if one.reason != reasons.PROCESS_LEAK]
        self.differences += seen
        folders = {os.path.dirname(path) for path in baseline.wrote}
        strange = [
            path for path in watched.wrote if path not in baseline.wrote and os.path.dirname(path) not in folders
        ]
        if strange and not watched.ended:
            self.add(reasons.FS_ESCAPE, where, f"it changes files of the project: {', '.join(strange[:5])}")

    def judgement(self, baseline: Baseline, candidate: str, mode: str) -> Judgement:
        """What is said of the candidate after all.

        Args:
            baseline: that it was compared with.
            candidate: its id.
            mode: of the servers: `warm` or `cold`.
        """
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
            "processes": self.processes,
            "peak_memory": self.peak,
            "wrote": sorted(self.wrote)[:20],
            "mode": mode,
        }
        detail = str(ordered[0]) if ordered else f"{self.compared} calls of {self.tests} tests, {self.derived} derived"
        return Judgement(reason, detail, receipt, tuple(ordered))
