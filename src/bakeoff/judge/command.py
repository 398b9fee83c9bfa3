"""Requirements that are shell commands, run in a slot that holds the tree to be judged: exit status 0 passes."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass

import anyio

from bakeoff.engine.process import Finished, SpawnError
from bakeoff.judge.ground import Ground, Trial, tail, text_of
from bakeoff.judge.requirement import Cost, Requirement
from bakeoff.judge.runners import REPORT_LIMIT, Tests, names_pytest, read_junit, read_output
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import INVALID, ValidationResult
from bakeoff.workspace.files import read_small
from bakeoff.workspace.slot import Slot

LANE = "tests"


@dataclass(frozen=True, slots=True)
class _Ran:
    """The command in one tree: what came of it, what is known of its tests, and what it printed."""

    trial: Trial
    tests: Tests | None
    printed: str

    def receipt(self) -> dict[str, object]:
        return {"tests": "unknown" if self.tests is None else self.tests.to_json()}


class CommandRequirement(Requirement):
    """The command ends with exit status 0 in a slot that holds the tree, and if it runs tests, it ran some.

    It judges subjects whose output has the `tree` (by which equal trees are judged once) and whose facts have the
    commit to `check` out. For pytest a JUnit report is asked for, wherever in the command it is started; of other
    runners what they print is read. A known runner that ran no test makes the verdict `invalid`.

    Args:
        command: for `sh`, run at the top of the tree.
        ground: see `Ground`.
        timeout: seconds for one check.
        report: a JUnit report that the command writes, relative to the top.
        base: a commit none of whose tests may be left out; None where that does not matter.
        version: see `Requirement`.
    """

    lanes: tuple[str, ...] = (LANE,)

    def __init__(
        self,
        command: str,
        ground: Ground,
        *,
        timeout: float | None = None,
        report: str | None = None,
        base: str | None = None,
        version: str = "",
    ) -> None:
        super().__init__(command, cost=Cost.PROCESS, version=version)
        self.command = command
        self.ground = ground
        self.seconds = timeout
        self.report = report
        self.base = base
        self._on_base: _Ran | None = None
        self._one_at_a_time = anyio.Lock()

    @property
    def identity(self) -> str:
        """See `Requirement.identity`."""
        return f"{super().identity}\0{self.seconds}\0{self.report}"

    async def check(self, subject: Subject) -> ValidationResult:
        """Run the command.

        Passes on WorkspaceError: there is no slot to run it in.

        Raises:
            SpawnError: no process can be had at the moment.
        """
        try:
            ran = await self._run(subject.facts["judged"], "check")
        except SpawnError as failure:
            if failure.transient:
                raise
            return ValidationResult(False, str(failure), error="spawn")
        trial, finished = ran.trial, ran.trial.finished
        receipt = {
            "tree": subject.output["tree"],
            "command": self.command,
            **ran.receipt(),
            "judged": "in-process",
            **trial.receipt,
        }
        if trial.unbuilt is not None:
            return ValidationResult(False, trial.unbuilt, error="sandbox", receipt=receipt)
        if finished is None or trial.invalid is not None:
            return ValidationResult(False, trial.invalid or "", error=INVALID, receipt=receipt)
        result, reason, error = _judged(finished, ran.tests, ran.printed, self.seconds or round(finished.seconds))
        if result and ran.tests is not None and self.base is not None:
            base = await self._base_run(self.base)
            missing = None if base.tests is None else ran.tests.fewer_than(base.tests)
            receipt["base"] = {"exit_code": base.trial.receipt["exit_code"], **base.receipt()}
            result, reason = missing is None, missing or ""
        return ValidationResult(result, reason, error=error, receipt=receipt)

    async def _run(self, commit: str, name: str) -> _Ran:
        async with self.ground.holding(commit) as slot:
            report = f"junit-{os.urandom(6).hex()}.xml"
            given = _environment(f"{slot.temp}/{report}")
            trial = await self.ground.run(slot, self.command, name, given, self.seconds)
            printed = "" if trial.finished is None else text_of(trial.finished)
            return _Ran(trial, None if trial.finished is None else self._tests(slot, report, printed), printed)

    async def _base_run(self, base: str) -> _Ran:
        """What the command makes of the base; the first one that asks runs it."""
        async with self._one_at_a_time:
            if self._on_base is None:
                self._on_base = await self._run(base, "check-base")
            return self._on_base

    def _tests(self, slot: Slot, report: str, printed: str) -> Tests | None:
        """What is known of the tests that ran. A report in the tree is read as a hostile file is."""
        runner = "pytest" if names_pytest(self.command) else "junit"
        own = _OWN_REPORT.search(self.command)
        named = self.report or (shlex.split(own[1])[0] if own else None)
        content = None
        if named is not None:
            content = read_small(slot.outside, os.fsencode(os.path.normpath(named)), REPORT_LIMIT)
        if content is None:
            content = read_small(slot.temp, report.encode(), REPORT_LIMIT)
        found = read_junit(content, "pytest" if named is None else runner)
        if found is not None:
            return found
        if runner == "pytest":  # what it prints anybody can print
            return Tests("pytest", 0)
        return read_output(self.command, printed)


_OWN_REPORT = re.compile(r"--junit-?xml[= ]\s*(\S+)")


def _environment(report: str) -> dict[str, str | None]:
    """Variables that have pytest write a report, however deep in the command it is started."""
    given = os.environ.get("PYTEST_ADDOPTS", "")
    return {"PYTEST_ADDOPTS": f"{given} --junitxml={shlex.quote(report)}".strip()}


def _judged(
    finished: Finished, tests: Tests | None, printed: str, seconds: float | None
) -> tuple[bool, str, str | None]:
    """Whether it passed, why not, and what kept it from being judged."""
    ended = tail(printed)
    if finished.ended_by == "timeout":
        return False, f"it did not end within {seconds:g} s\n{ended}".rstrip(), None
    if finished.ended_by is not None:
        return False, f"it was ended early: {finished.message or finished.ended_by}\n{ended}".rstrip(), "error"
    if tests is not None and tests.ran == 0 and (finished.exit_code == 0 or _says_none(finished, tests)):
        return False, f"{tests.runner} ran no test\n{ended}".rstrip(), INVALID
    failed = 0 if tests is None else tests.failed
    if finished.exit_code == 0 and not failed:
        return True, "", None
    lines = [f"exit status {finished.exit_code}"]
    if finished.exit_code == 0:  # what ends the process early, or a pipe, hides the runner's own status
        lines = [f"exit status 0, but {failed} of {tests.ran if tests else 0} tests failed"]
    if tests is not None and tests.failing:
        lines.append(f"failing: {', '.join(tests.failing)}")
    return False, "\n".join([*lines, ended]).rstrip(), None


def _says_none(finished: Finished, tests: Tests) -> bool:
    """Whether a failure means only that there was nothing to run."""
    return tests.runner in ("pytest", "unittest") and finished.exit_code == 5
