"""Running the checks on a tree, durably: what has ended is not run again, and what failed on the base is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from bakeoff.engine.record import Outcome, Status
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError
from bakeoff.judge.checks.check_runner import CheckRunner
from bakeoff.judge.checks.command import LANE, CommandRequirement
from bakeoff.judge.checks.diagnosis import PYTEST_INTERRUPTED, why_unrunnable
from bakeoff.judge.checks.missing_files import what_to_copy
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import INVALID, ValidationResult, from_json, to_json
from bakeoff.workspace.blocking import in_thread

UNRUNNABLE = "it cannot judge: "
"""What the reason of a check begins with that cannot be run."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Verdict of the checks on a tree.

    Attributes:
        passed: whether all passed, apart from tests that fail on the base.
        tests: what failed: tests by name, else the check.
        excused: what failed and fails on the base as well.
        reason: what the check said.
        check: the check that failed, from 0.
    """

    passed: bool
    tests: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    reason: str = ""
    check: int = 0


@dataclass(slots=True)
class Verification:
    """The checks of a queue. Each check of a tree is a leaf of the run.

    Attributes:
        base: the tree that all is merged onto.
        checks: shell commands that must end with exit status 0.
        prefix: what the paths of their nodes begin with.
        lanes: lanes that they hold besides.
        known: what checks are known to say of the base.
    """

    run: Run
    runner: CheckRunner
    base: str
    checks: Sequence[str]
    timeout: float | None = None
    prefix: str = ""
    lanes: tuple[str, ...] = ()
    known: dict[int, ValidationResult] = field(default_factory=dict)
    _on_base: dict[int, ValidationResult] = field(default_factory=dict)
    _missing: dict[int, str | None] = field(default_factory=dict)
    """What the base misses of the user's ignored files, by check."""
    _asking: anyio.Lock = field(default_factory=anyio.Lock)

    async def verify(self, name: str, tree: str, *, ask_base: bool) -> Verified:
        """Run the checks on a tree, up to the first that fails.

        Args:
            name: what the node is called.
            tree: in bakeoff's repository.
            ask_base: run a check that fails on the base too, to see whether it failed before; else only what is known
                of the base counts.

        Passes on BakeoffError: a check could not be run.
        """
        excused: list[str] = []
        for number in range(len(self.checks)):
            verdict = await self._check(name, tree, number)
            if verdict.result:
                continue
            before = await self._before(number) if ask_base else self._on_base.get(number)
            failing = failing_tests(verdict)
            known = failing_tests(before) if before is not None and not before.result else ()
            if failing and set(failing) <= set(known):
                excused += failing
                continue
            tests = tuple(test for test in failing if test not in known) or (self.checks[number],)
            return Verified(False, tests, tuple(excused), verdict.reason, number)
        return Verified(True, excused=tuple(excused))

    def learn(self, number: int, found: ValidationResult) -> None:
        """Take what a check is seen to say of the base for known, so that it is not run there once more."""
        self.known[number] = found

    def fails_on_base(self, number: int) -> bool:
        """Whether the check is known to fail on the base."""
        return number in self._on_base and not self._on_base[number].result

    def said_on_base(self, number: int) -> str:
        """Output of the check on the base, and first why it cannot judge at all; empty where that is not known."""
        if number not in self._on_base:
            return ""
        found = self._on_base[number]
        why = self._missing.get(number) or why_unrunnable(self.checks[number], found)
        return found.reason if why is None else f"{UNRUNNABLE}{why}\n{found.reason}"

    def unclear(self, found: Verified) -> bool:
        """Whether the check that failed fails on the base too, and does not tell by which tests."""
        return self.fails_on_base(found.check) and found.tests == (self.checks[found.check],)

    async def _before(self, number: int) -> ValidationResult:
        async with self._asking:
            if number not in self._on_base:
                found = self.known.get(number)  # one that failed is known, too
                if found is None:
                    found = await self._check("base", self.base, number)
                if not found.result and not failing_tests(found):  # red once and for no test by name: it may be chance
                    found = await self._check("base:again", self.base, number)
                if not found.result and not failing_tests(found):
                    self._missing[number] = await in_thread(what_to_copy, found.reason, self.runner.workspace.base)
                self._on_base[number] = found
            return self._on_base[number]

    async def _check(self, name: str, tree: str, number: int) -> ValidationResult:
        """One check of a tree.

        Raises:
            BakeoffError: it could not be run.
        """
        requirement = CommandRequirement(self.checks[number], self.runner, timeout=self.timeout)

        async def work(_: int) -> Outcome:
            verdict = await requirement.check(Subject({"tree": tree}, facts={"judged": tree}))
            output: dict[str, Any] = {"verdict": to_json(verdict)}
            if verdict.error not in (None, INVALID):
                return Outcome(Status.FAILED, output, verdict.reason or verdict.error, verdict.error)
            return Outcome(output=output)

        # With the tree in its name a verdict is never taken for one of another tree.
        path = f"{self.prefix}{name}:{tree[:10]}/check:{number + 1}"
        record = await self.run.leaf(path, "check", work, lanes=(LANE, *self.lanes))
        if record.status is not Status.COMPLETED:
            raise BakeoffError(f"{path}: the check could not be run: {record.error}")
        return from_json(record.output["verdict"])


def failing_tests(verdict: ValidationResult) -> tuple[str, ...]:
    """The names of all tests that failed; none where they are not all known, or kept others from being run."""
    receipt = verdict.receipt or {}
    tests = receipt.get("tests")
    if not isinstance(tests, dict):
        return ()
    if tests.get("runner") == "pytest" and receipt.get("exit_code") == PYTEST_INTERRUPTED:
        return ()
    names = tuple(tests.get("failing", ()))
    return names if len(names) == tests.get("failed") else ()
