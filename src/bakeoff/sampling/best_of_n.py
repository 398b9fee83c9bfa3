"""Best of N: all attempts are made, and the highest score wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bakeoff.engine.blocking import is_async
from bakeoff.judge.requirement import Cost, Requirement
from bakeoff.judge.subject import Subject
from bakeoff.judge.threads import beside_loop
from bakeoff.judge.verdict import ValidationResult
from bakeoff.sampling.result import Attempt
from bakeoff.sampling.sampler import Sampler
from bakeoff.sampling.strategy import Mode, SamplingStrategy


class BestOfNStrategy(SamplingStrategy):
    """`loop_budget * concurrency_budget` independent attempts; of those that pass, the one with the highest score.

    The score of an attempt is the sum of its verdicts' scores. Of equal ones the lowest id wins.

    Args:
        loop_budget, concurrency_budget, mode: see `SamplingStrategy`.
        score: a function of the output (async, or plain: then in a thread) that returns a number. It stands as one
            more requirement behind the given ones, which passes unless it raises.
        good_enough: a score that ends the search at once.
    """

    def __init__(
        self,
        *,
        loop_budget: int = 1,
        concurrency_budget: int = 1,
        mode: Mode = "deterministic",
        score: Callable[[Any], Any] | None = None,
        good_enough: float | None = None,
    ) -> None:
        super().__init__(loop_budget=loop_budget, concurrency_budget=concurrency_budget, mode=mode)
        self.score = score
        self.good_enough = good_enough

    def requirements(self, given: list[Any]) -> list[Any]:
        """The given ones, and the score."""
        return given if self.score is None else [*given, _Scored(self.score)]

    def accept(self, attempt: Attempt) -> bool:
        """Only what is good enough ends the search."""
        score = attempt.score
        return (
            attempt.status == "passed"
            and self.good_enough is not None
            and score is not None
            and score >= self.good_enough
        )

    async def choose(self, sampler: Sampler) -> Attempt | None:
        """See `SamplingStrategy.choose`."""
        passed = [attempt for attempt in sampler.attempts.values() if attempt.status == "passed"]
        best = min(passed, key=lambda attempt: (-_number(attempt.score), attempt.id), default=None)
        return best or await super().choose(sampler)


def _number(score: float | None) -> float:
    return float("-inf") if score is None else score


class _Scored(Requirement):
    """A score as a requirement that is always met. It comes last: what fails need not be scored."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__("score", function, cost=Cost.PROCESS)

    async def check(self, subject: Subject) -> ValidationResult:
        """The score.

        Raises:
            TypeError: the function returned no number.
        """
        assert self.function is not None
        if is_async(self.function):
            score = await self.function(subject.output)
        else:
            left = lambda: subject.not_stopped.append("the score goes on in its thread")  # noqa: E731
            score = await beside_loop(self.function, subject.output, left=left)
        if not isinstance(score, (int, float)) or isinstance(score, bool) or score != score:
            raise TypeError(f"a score is a number, not {score!r}")
        return ValidationResult(True, score=float(score))
