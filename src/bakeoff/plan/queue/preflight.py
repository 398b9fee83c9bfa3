"""Preflight of a merge: every check on the base before any change is tested; one that cannot judge refuses the run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from bakeoff.engine.record import Outcome, Status
from bakeoff.errors import BakeoffError
from bakeoff.judge.checks.command import LANE, CommandRequirement
from bakeoff.judge.checks.diagnosis import PYTEST_INTERRUPTED, why_unrunnable
from bakeoff.judge.checks.missing_files import what_to_copy
from bakeoff.judge.verdict import ValidationResult, from_json, to_json
from bakeoff.plan.queue.verification import Verification, failing_tests
from bakeoff.process.command import SpawnError
from bakeoff.report.escape import one_line
from bakeoff.sampling.attempt.preflight import NODE, PATIENCE, Ways, named_by, tried_all, unable
from bakeoff.workspace.blocking import in_thread

_WAYS = Ways("Checks were run on the base, and nothing was merged", "Where what is merged brings what a check needs,")

_MODULE = re.compile(r"ModuleNotFoundError: No module named '(?P<name>\w+)[\w.]*'")


@dataclass(frozen=True, slots=True)
class Preflight:
    """Tries the checks of a merge on its base, once.

    Attributes:
        verification: knows afterwards what they came to, so that nobody runs them there again.
        say: told in words what refuses nothing.
    """

    verification: Verification
    say: Callable[[str], None]

    async def carry_out(self, brought: Collection[bytes]) -> None:
        """Run each check on the base, side by side, for as long as `PATIENCE` or the checks' own limit.

        What an earlier session found is found again. One that has not ended by then says nothing. Cancelled, the checks
        have ended.

        Passes on PreflightError: one cannot judge, and no change brings what it misses. BakeoffError: one could not be
        run.
        """
        verification = self.verification
        works = [partial(self._try, command, brought) for command in verification.checks]
        lanes = (LANE, *verification.lanes)
        for number, record in enumerate(await tried_all(verification.run, works, verification.prefix, lanes, _WAYS)):
            if not record.output["ended"]:
                continue
            found = from_json(record.output["verdict"])
            if found.error is None:
                verification.learn(number, found)
            if not found.result and not failing_tests(found):
                what = "fails on the base and names no test, so only a change that mends it can land"
                self.say(f"check `{one_line(verification.checks[number], 200)}` {what}")

    async def _try(self, command: str, brought: Collection[bytes]) -> Outcome:
        """One check where nothing was merged.

        Raises:
            BakeoffError: no process is to be had; that says nothing of it.
        """
        runner, wanted = self.verification.runner, self.verification.timeout
        limit = PATIENCE if wanted is None else min(PATIENCE, wanted)
        base = runner.workspace.base
        try:
            found, kept = await CommandRequirement(command, runner).try_base(base.snapshot.commit, limit)
        except SpawnError as failure:
            raise BakeoffError(f"check `{one_line(command, 200)}` could not be run: {failure}") from failure
        output = {"command": command, "verdict": to_json(found), "ended": kept.limit is None}
        if found.result or not output["ended"]:
            return Outcome(output=output)
        if (misses := await in_thread(what_to_copy, found.reason, base)) is not None:
            return Outcome(Status.FAILED, output, f"check `{one_line(command, 200)}` {misses}", NODE)
        why = why_unrunnable(command, found) or _uncollected(found, {*base.entries.files, *brought})
        if why is None or any(os.fsencode(path) in brought for path in named_by(command)):
            return Outcome(output=output)
        return Outcome(Status.FAILED, output, unable("check", command, why), NODE)


def _uncollected(found: ValidationResult, paths: Collection[bytes]) -> str | None:
    """Reason that pytest collected no test, where it misses a module that neither the base nor a change has."""
    receipt = found.receipt or {}
    tests = receipt.get("tests")
    pytest = isinstance(tests, dict) and tests.get("runner") == "pytest"
    if not pytest or receipt.get("exit_code") != PYTEST_INTERRUPTED:
        return None
    names = {part.partition(b".")[0] for path in paths for part in path.split(b"/")}
    missed = (line for line in _MODULE.finditer(found.reason) if line["name"].encode() not in names)
    line = next(missed, None)
    return None if line is None else f"{line[0]}, and no change that is merged brings it"
