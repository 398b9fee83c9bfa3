"""Tests of a winner as `apply` would leave the project: pytest as people start it, without any instrumentation.

What passes with the original so counts, whatever became of it while calls were noted.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import anyio

from bakeoff.judge.checks import junit
from bakeoff.judge.checks.runner_output import Tests
from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.inside.addopts import home
from bakeoff.optimize.behaviour.judgement import Difference, Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.process.command import Command, Processes
from bakeoff.reader.reading import UnreadError, read
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.files import RefusedError, open_regular
from bakeoff.workspace.slots.slot import Slot

WHOLE = 60.0
"""Seconds that all passing tests may take together, so that all are run; else the files of those that reach it."""
LEAST, FACTOR = 60.0, 5.0
"""Seconds that a run may take at least, and times as long as all tests took."""
SLOWER, SLACK, PAIRS = 1.1, 0.15, 7
"""Times as long as with the original, and seconds besides, that tests may take; pairs of runs that all say so,
as the quickest with the candidate beside the median with the original has to.

On a busy machine any one of two runs may take longer, but hardly the same one each time.
"""
TOLD = 20
AS_APPLIED = "as it would be applied"

Interpreter = Callable[[Baseline, Slot], Awaitable[Command]]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the tests.

    Attributes:
        tests: what its report tells; None where there is none.
        seconds: it took.
        why: there is no report, in words.
    """

    tests: Tests | None
    seconds: float
    why: str = ""


@dataclass(slots=True)
class AppliedTests:
    """Runs the tests with the original and with winners, each in a slot of its own.

    Attributes:
        processes: run them.
        interpreter: the project's, in a slot's sandbox.
        tests: what pytest is given; empty for what the project configures.
    """

    processes: Processes
    interpreter: Interpreter
    tests: Sequence[str] = ()
    _original: Run | None = None
    _asking: anyio.Lock = field(default_factory=anyio.Lock)

    async def judge(
        self, run: Callable[[Candidate | None], Awaitable[Run]], candidate: Candidate, judgement: Judgement
    ) -> Judgement:
        """The judgement, with what these tests add to it.

        Args:
            run: runs the tests in a fresh slot with a candidate's files, or the original's.
            candidate: that would be applied.
            judgement: of its behaviour so far.

        Cancelled, all processes are ended.
        """
        async with self._asking:
            if self._original is None:
                self._original = await run(None)
        original, found = self._original, await run(candidate)
        times = [(original.seconds, found.seconds)]
        failing = _failing(original, found)
        while not failing and original.tests is not None and _slower(*times[-1]) and len(times) < PAIRS:
            times.append(await _pair(run, candidate, last_first=len(times) % 2 == 1))
        differences = [Difference(reasons.TEST_FAILED, name, "", why) for name, why in failing]
        before, after = median(one for one, _ in times), min(other for _, other in times)
        if not differences and original.tests is not None and _slower(*times[-1]) and _slower(before, after):
            detail = f"the tests take {after:.1f} s with it, and {before:.1f} s with the original"
            differences = [Difference(reasons.NOT_FASTER, AS_APPLIED, "", detail)]
        receipt = {**judgement.receipt, "as_applied": _receipt(original, found)}
        if not differences:
            return replace(judgement, receipt=receipt)
        return Judgement(differences[0].reason, str(differences[0]), receipt, tuple(differences[:TOLD]))

    async def run(self, slot: Slot, baseline: Baseline) -> Run:
        """Run the tests in a slot as it stands."""
        command = await self.interpreter(baseline, slot)
        report = f"applied-{os.urandom(6).hex()}.xml"
        folder = os.path.relpath(await in_thread(home, str(slot.outside), str(baseline.target.path)), str(slot.outside))
        words = [*command.argv, "-m", "pytest", "-q", "--continue-on-collection-errors"]
        words += [f"--junitxml={slot.temp}/{report}", *self._given(baseline)]
        cwd = os.path.normpath(os.path.join(command.cwd, folder))
        limit = max(LEAST, FACTOR * sum(baseline.passing.values()))
        done = await self.processes.run(replace(command, argv=words, cwd=cwd, timeout=limit, output_limit=64 << 20))
        try:
            return Run(await _report(slot.temp, report), done.seconds)
        except (OSError, RefusedError, UnreadError) as failure:
            ended = done.ended_by or f"exit status {done.exit_code}"
            return Run(None, done.seconds, f"pytest gave no report ({ended}): {failure}")

    def _given(self, baseline: Baseline) -> list[str]:
        if self.tests or sum(baseline.passing.values()) <= WHOLE:
            return list(self.tests)
        reach = [*baseline.tests, *baseline.in_process, *baseline.set_aside]
        return list(dict.fromkeys(name.partition("::")[0] for name in reach))


async def _report(folder: Path, name: str) -> Tests:
    """What a report tells. Passes on OSError, RefusedError, UnreadError."""
    with (
        open_regular(folder, os.fsencode(name), junit.REPORT_LIMIT) as (descriptor, _),
        os.fdopen(os.dup(descriptor), "rb", buffering=0) as file,
    ):
        return Tests.of(await read(junit.read, file), runner="pytest", source="junit")


def _failing(original: Run, found: Run) -> list[tuple[str, str]]:
    """Tests that pass with the original and not with the candidate, and how they end."""
    if original.tests is None:
        return []
    passing = original.tests.names - set(original.tests.failing)
    if found.tests is None:
        return [(AS_APPLIED, found.why)] if passing else []
    failed = passing & set(found.tests.failing)
    told = [(name, f"{AS_APPLIED} it fails, and passes with the original") for name in sorted(failed)]
    missing = passing - found.tests.names
    return [*told, *((name, f"{AS_APPLIED} it does not run, and passes with the original") for name in sorted(missing))]


async def _pair(
    run: Callable[[Candidate | None], Awaitable[Run]], candidate: Candidate, *, last_first: bool
) -> tuple[float, float]:
    """Seconds with the original and with the candidate; in turns each is first, as load comes and goes."""
    order = (candidate, None) if last_first else (None, candidate)
    one, other = [(await run(tried)).seconds for tried in order]
    return (other, one) if last_first else (one, other)


def _slower(before: float, after: float) -> bool:
    return after > SLOWER * before + SLACK


def _receipt(original: Run, found: Run) -> dict[str, object]:
    if original.tests is None:
        return {"tests": 0, "why": original.why}
    ran = 0 if found.tests is None else len(found.tests.names)
    return {"tests": ran, "seconds": round(found.seconds, 2), "seconds_before": round(original.seconds, 2)}
