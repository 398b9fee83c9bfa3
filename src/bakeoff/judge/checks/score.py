"""Scores that a shell command gives: the last number that it prints; higher is better."""

from __future__ import annotations

import math
import re

from bakeoff.judge.checks.check_runner import CheckRunner, tail, text_of
from bakeoff.judge.checks.command import LANE
from bakeoff.judge.requirement import Cost, Requirement
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import INVALID, ValidationResult
from bakeoff.process.command import SpawnError

_LONGEST = 16_384
"""Characters at the end of the output that are looked at."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class ScoreRequirement(Requirement):
    """Always met when the command ends with exit status 0 and prints a number: the last one is the score.

    Arguments as for `CommandRequirement`.
    """

    lanes: tuple[str, ...] = (LANE,)

    def __init__(self, command: str, runner: CheckRunner, *, timeout: float | None = None, version: str = "") -> None:
        super().__init__(f"score: {command}", cost=Cost.PROCESS, version=version)
        self.command = command
        self.runner = runner
        self.seconds = timeout

    async def check(self, subject: Subject) -> ValidationResult:
        """Run the command.

        Passes on WorkspaceError: there is no slot to run it in.

        Raises:
            SpawnError: no process can be had at the moment.
        """
        async with self.runner.holding(subject.facts["judged"]) as slot:
            try:
                check_run = await self.runner.run(slot, self.command, "score", {}, self.seconds)
            except SpawnError as failure:
                if failure.transient:
                    raise
                return ValidationResult(False, str(failure), error="spawn")
        receipt = {"tree": subject.output["tree"], "command": self.command, **check_run.receipt}
        finished = check_run.finished
        if check_run.unbuilt is not None:
            return ValidationResult(False, check_run.unbuilt, error="sandbox", receipt=receipt)
        if finished is None or check_run.invalid is not None:
            return ValidationResult(False, check_run.invalid or "", error=INVALID, receipt=receipt)
        printed = text_of(finished)
        if finished.exit_code != 0:
            why = f"the score's command ended with exit status {finished.exit_code}\n{tail(printed)}".rstrip()
            return ValidationResult(False, why, error="no score", receipt=receipt)
        value = finished.stdout.value
        score = last_number(value if isinstance(value, str) else value.excerpt)
        if isinstance(score, str):
            return ValidationResult(False, f"the score's command printed {score}", error="no score", receipt=receipt)
        return ValidationResult(True, score=score, receipt=receipt)


def last_number(text: str) -> float | str:
    """The last number in a text; where it is none that a score can be, what there is instead, in words."""
    end = text[-_LONGEST:]
    found = list(_NUMBER.finditer(end))
    if not found:
        return "no number" if len(text) <= _LONGEST else f"no number in its last {_LONGEST} characters"
    number = found[-1][0]
    cut = found[-1].start() == 0 and len(text) > len(end)  # its beginning may be left out
    score = math.inf if cut else float(number)
    return score if math.isfinite(score) else f"a number beyond what a score can be: {number[:20]}..."
