"""Requirements that are shell commands, run in a slot that holds the tree to be judged: exit status 0 passes."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import anyio

from bakeoff.judge.checks import junit, runner_output
from bakeoff.judge.checks.check_runner import CheckRun, CheckRunner, tail, text_of
from bakeoff.judge.checks.diagnosis import PYTEST_USAGE, of_code
from bakeoff.judge.checks.on_base import OnBase
from bakeoff.judge.checks.runner_output import Tests, names_pytest
from bakeoff.judge.requirement import Cost, Requirement
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import INVALID, ValidationResult
from bakeoff.process.command import Finished, SpawnError
from bakeoff.reader.reading import UnreadError, read
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.files import RefusedError, open_regular
from bakeoff.workspace.slots.slot import Slot

LANE = "tests"

_BASE_LEAST, _BASE_FACTOR = 10.0, 5.0
"""Seconds that a check may take on the base at least, and how many times as long as it took on the attempt."""


@dataclass(frozen=True, slots=True)
class _Ran:
    """The command in one tree: what came of it, what is known of its tests, or why they cannot be read; its output."""

    check_run: CheckRun
    tests: Tests | None
    printed: str
    unread: str | None = None

    def receipt(self) -> dict[str, object]:
        return {"tests": "unknown" if self.tests is None else self.tests.to_json()}


class CommandRequirement(Requirement):
    """The command ends with exit status 0 in a slot that holds the tree, and if it runs tests, it ran some.

    It judges subjects whose output has the `tree` (by which equal trees are judged once) and whose facts have the
    commit to `check` out. For pytest a JUnit report is asked for, wherever in the command it is started; of other
    runners what they print is read. A known runner that ran no test makes the verdict `invalid`.

    Args:
        command: for `sh`, run at the top of the tree.
        runner: see `CheckRunner`.
        timeout: seconds for one check.
        report: a JUnit report that the command writes, relative to the top.
        base: a commit none of whose tests may be left out; None where that does not matter.
        on_base: what it came to there, where it has been run there.
        version: see `Requirement`.
    """

    lanes: tuple[str, ...] = (LANE,)

    def __init__(
        self,
        command: str,
        runner: CheckRunner,
        *,
        timeout: float | None = None,
        report: str | None = None,
        base: str | None = None,
        on_base: OnBase | None = None,
        version: str = "",
    ) -> None:
        super().__init__(command, cost=Cost.PROCESS, version=version)
        self.command = command
        self.runner = runner
        self.seconds = timeout
        self.report = report
        self.base = base
        self.on_base = on_base
        self._asked_base = False
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
            ran = await self._run(subject.facts["judged"], "check", self.seconds)
        except SpawnError as failure:
            if failure.transient:
                raise
            return ValidationResult(False, str(failure), error="spawn")
        found = self._verdict(ran, subject.output["tree"], self.seconds)
        if not found.result or ran.tests is None or self.base is None:
            return found
        assert ran.check_run.finished is not None
        base = await self._base_run(self.base, ran.check_run.finished.seconds)
        missing = None if base.tests is None else ran.tests.fewer_than(base.tests)
        receipt = {**(found.receipt or {}), "base": base.receipt()}
        return ValidationResult(missing is None, missing or "", receipt=receipt)

    async def try_base(self, commit: str, limit: float | None) -> tuple[ValidationResult, OnBase]:
        """Run the command where nothing was changed, for `limit` seconds at most: its verdict, and what is kept of it.

        Passes on WorkspaceError: there is no slot to run it in. SpawnError: no process can be had.
        """
        ran = await self._run(commit, "check-base", limit)
        return self._verdict(ran, self.runner.workspace.snapshot.tree, limit), _on_base(ran, limit)

    def _verdict(self, ran: _Ran, tree: str, limit: float | None) -> ValidationResult:
        """Verdict on a run, by itself."""
        check_run, finished = ran.check_run, ran.check_run.finished
        receipt = {
            "tree": tree,
            "command": self.command,
            **ran.receipt(),
            "judged": "in-process",
            **check_run.receipt,
        }
        if check_run.unbuilt is not None:
            return ValidationResult(False, check_run.unbuilt, error="sandbox", receipt=receipt)
        if finished is None or check_run.invalid is not None:
            return ValidationResult(False, check_run.invalid or "", error=INVALID, receipt=receipt)
        result, reason, error = judged(finished, ran.tests, ran.printed, limit or round(finished.seconds))
        if result and ran.unread is not None:
            result, reason, error = False, f"nobody can tell which tests ran: {ran.unread}", INVALID
        return ValidationResult(result, reason, error=error, receipt=receipt)

    async def _run(self, commit: str, name: str, limit: float | None) -> _Ran:
        async with self.runner.holding(commit) as slot:
            report = f"junit-{os.urandom(6).hex()}.xml"
            given = _environment(f"{slot.temp}/{report}")
            check_run = await self.runner.run(slot, self.command, name, given, limit)
            if check_run.finished is None:
                return _Ran(check_run, None, "")
            printed = text_of(check_run.finished)
            try:
                return _Ran(check_run, await self._tests(slot, report, printed), printed)
            except UnreadError as failure:
                return _Ran(check_run, None, printed, str(failure))

    async def _base_run(self, base: str, seconds: float) -> OnBase:
        """Result of the command on the base; the first one that asks runs it, where nobody has.

        The base may hang where an attempt does not, as when it is a hang that is mended. So the run has a limit that
        follows from the `seconds` that the attempt's own check took; what did not end says nothing of its tests.
        """
        limit = max(_BASE_LEAST, _BASE_FACTOR * seconds)
        limit = limit if self.seconds is None else min(limit, self.seconds)
        async with self._one_at_a_time:
            known = self.on_base
            if known is None or (not self._asked_base and known.limit is not None and known.limit < limit):
                known = self.on_base = _on_base(await self._run(base, "check-base", limit), limit)
            self._asked_base = True
            return known

    async def _tests(self, slot: Slot, report: str, printed: str) -> Tests | None:
        """Count and names of the tests that ran, as a reader process finds them; None where nothing tells.

        Raises:
            UnreadError: there is a report, or an output, that cannot be read.
        """
        runner = "pytest" if names_pytest(self.command) else "junit"
        own = _OWN_REPORT.search(self.command)
        named = self.report or (shlex.split(own[1])[0] if own else None)
        file = None
        if named is not None:
            file = await in_thread(_report, slot.outside, os.path.normpath(named))
        if file is None:
            file = await in_thread(_report, slot.temp, report)
            runner, named = "pytest" if file is not None else runner, report
        if file is not None:
            with file:
                try:
                    return Tests.of(await read(junit.read, file), runner=runner, source="junit")
                except UnreadError as failure:
                    raise UnreadError(failure.kind, f"its report {named} cannot be read: {failure}") from None
        if runner == "pytest":  # what it prints anybody can print
            return Tests("pytest", 0)
        try:
            found = await read(runner_output.printed, printed.encode("utf-8", "surrogatepass"), self.command)
        except UnreadError as failure:
            raise UnreadError(failure.kind, f"what it printed cannot be read: {failure}") from None
        return None if found is None else Tests.of(found)


def _report(root: Path, path: str) -> BinaryIO | None:
    """A JUnit report in a tree, open; None where there is none.

    Raises:
        UnreadError: what is there may not be read.
    """
    try:
        with open_regular(root, os.fsencode(path), junit.REPORT_LIMIT) as (descriptor, _):
            return os.fdopen(os.dup(descriptor), "rb", buffering=0)
    except FileNotFoundError:
        return None
    except (OSError, RefusedError) as failure:
        raise UnreadError("refused", f"its report {path} cannot be read: {failure}") from None


def _on_base(ran: _Ran, limit: float | None) -> OnBase:
    finished = ran.check_run.finished
    if finished is None or finished.ended_by is None:
        return OnBase(None if finished is None else finished.exit_code, ran.tests)
    return OnBase(finished.exit_code, None, limit)


_OWN_REPORT = re.compile(r"--junit-?xml[= ]\s*(\S+)")


def _environment(report: str) -> dict[str, str | None]:
    """Variables that have pytest write a report, however deep in the command it is started."""
    given = os.environ.get("PYTEST_ADDOPTS", "")
    return {"PYTEST_ADDOPTS": f"{given} --junitxml={shlex.quote(report)}".strip()}


def judged(
    finished: Finished, tests: Tests | None, printed: str, seconds: float | None
) -> tuple[bool, str, str | None]:
    """Decide whether it passed, why not, and what kept it from being judged."""
    ended = tail(printed)
    if finished.ended_by == "timeout":
        return False, f"it did not end within {seconds:g} s\n{ended}".rstrip(), None
    if finished.ended_by is not None:
        return False, f"it was ended early: {finished.message or finished.ended_by}\n{ended}".rstrip(), "error"
    if tests is not None and _ran_none(finished, tests, printed):
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


def _ran_none(finished: Finished, tests: Tests, printed: str) -> bool:
    """Whether there was nothing to run, or nothing of what was asked for, and no code of the project is why."""
    if tests.failing == _INTERNAL_ERROR and tests.ran == 1:
        return not of_code(printed)
    if tests.ran or finished.exit_code == 0:
        return tests.ran == 0
    if tests.runner == "pytest" and (finished.exit_code == PYTEST_USAGE or _NOTHING.search(printed)):
        return not of_code(printed)
    return tests.runner in ("pytest", "unittest") and finished.exit_code == 5


_INTERNAL_ERROR = ("pytest.internal",)
"""The case by which a report of pytest says that pytest itself broke down."""

_NOTHING = re.compile(r"(?m)^(?:=+ )?no tests ran in [\d.]+s")
