"""Result of sampling: the chosen output, every attempt with its verdicts, and why it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.judge.checks.diagnosis import is_near
from bakeoff.judge.verdict import ValidationResult
from bakeoff.model.protocol import Message, Request
from bakeoff.sampling.usage import UsageTotal


class Reason(StrEnum):
    """Why sampling ended; a closed set."""

    PASSED = "passed"
    EXHAUSTED = "budget exhausted"
    ERRORS = "every attempt ended in an error"
    CAP = "cap reached"
    DEADLINE = "deadline reached"
    PERMANENT = "permanent error"


@dataclass(frozen=True, slots=True)
class AttemptError:
    """Why an attempt made nothing.

    Attributes:
        kind: `rate_limit`, `overload`, `timeout`, `auth`, ... (see `ModelError`), `empty`, `budget`, or `error`.
        message: one line for a person.
        exception: what was raised; None for one that an earlier session of the run met.
    """

    kind: str
    message: str
    exception: BaseException | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt.

    Attributes:
        id: from 1; where attempts build on one another, `lane * loop_budget + round + 1`.
        lane: which of the places that work at once it had, from 0.
        round: how many attempts there were before it in its lane.
        status: `passed`, `failed` (judged, not all requirements met), `error` (nothing to judge, or it could not be
            judged for want of budget) or `cancelled`.
        output: what it made.
        conversation: the messages that its output answers.
        request: what the model was asked, where a model was.
        verdicts: of each requirement, in the given order; empty when it was not judged.
        error: see `AttemptError`.
        latency: seconds from its start to its end, waits included.
        usage: what it used, its judges included.
        receipt: what its maker says of it (`request_id`, `model`, `finish_reason`, an agent's facts).
        not_stopped: what goes on although nobody wants it any more.
    """

    id: int
    lane: int
    round: int
    status: str = "cancelled"
    output: Any = None
    conversation: tuple[Message, ...] = ()
    request: Request | None = None
    verdicts: list[ValidationResult] = field(default_factory=list)
    error: AttemptError | None = None
    latency: float = 0.0
    usage: UsageTotal = field(default_factory=UsageTotal)
    receipt: Mapping[str, Any] = field(default_factory=dict)
    not_stopped: list[str] = field(default_factory=list)

    @property
    def judged(self) -> bool:
        """Whether it made something that was judged."""
        return self.status in ("passed", "failed")

    @property
    def met(self) -> int:
        """Number of requirements that it meets."""
        return sum(verdict.result for verdict in self.verdicts)

    @property
    def near(self) -> bool:
        """Whether it meets a requirement, or was at least judged by one: its code could be loaded, and tests ran."""
        return any(verdict.result or is_near(verdict) for verdict in self.verdicts)

    @property
    def score(self) -> float | None:
        """The sum of its verdicts' scores; None where there are none."""
        scores = [verdict.score for verdict in self.verdicts if verdict.score is not None]
        return sum(scores) if scores else None


@dataclass(slots=True)
class SamplingResult:
    """Result of sampling.

    Attributes:
        success: whether the chosen output meets all requirements.
        reason: why it ended.
        result_index: the chosen one among `sample_generations`; None when nothing was judged.
        sample_generations: the outputs that were judged, by attempt id.
        sample_validations: beside each, its (requirement, verdict) pairs in the given order.
        attempts: every attempt that began, by id.
        usage: over all attempts.
        strategy: the strategy's name.
        loop_budget, concurrency_budget: as in force.
        facts: what the strategy adds (votes, scores).
        short: with the reason `CAP` what a further attempt was to have and what was left, in words.
    """

    success: bool
    reason: Reason
    result_index: int | None
    sample_generations: list[Any]
    sample_validations: list[list[tuple[Any, ValidationResult]]]
    attempts: list[Attempt]
    usage: UsageTotal
    strategy: str
    loop_budget: int
    concurrency_budget: int
    facts: dict[str, Any] = field(default_factory=dict)
    short: str = ""

    @property
    def winner(self) -> Attempt | None:
        """The chosen attempt; of failures the best."""
        if self.result_index is None:
            return None
        return [attempt for attempt in self.attempts if attempt.judged][self.result_index]

    @property
    def result(self) -> Any:
        """The chosen output."""
        return None if self.result_index is None else self.sample_generations[self.result_index]

    @property
    def result_validations(self) -> list[tuple[Any, ValidationResult]]:
        """The chosen one's (requirement, verdict) pairs."""
        return [] if self.result_index is None else self.sample_validations[self.result_index]

    @property
    def iterations_used(self) -> int:
        """Number of attempts that were completed."""
        return sum(attempt.status != "cancelled" for attempt in self.attempts)

    @property
    def errors(self) -> dict[int, AttemptError]:
        """The errors, by attempt id."""
        return {attempt.id: attempt.error for attempt in self.attempts if attempt.error is not None}

    @property
    def not_stopped(self) -> dict[int, list[str]]:
        """Work that goes on although nobody wants it any more, by attempt id."""
        return {attempt.id: attempt.not_stopped for attempt in self.attempts if attempt.not_stopped}

    def __str__(self) -> str:
        if self.result is not None:
            return str(self.result)
        errors = list(self.errors.values())
        return f"no output: {self.reason}" + (f"; the last: {errors[-1]}" if errors else "")


class SamplingError(BakeoffError):
    """No attempt can succeed: the model refuses for good (a wrong key, a malformed request).

    Attributes:
        kind: what sort of error it is, as of `ModelError`.
        count: how many attempts met it.
        result: what there is all the same.
    """

    def __init__(self, error: AttemptError, count: int, result: SamplingResult) -> None:
        times = "once" if count == 1 else f"{count} times"
        super().__init__(f"sampling stopped, the error is permanent (met {times}): {error}")
        self.kind = error.kind
        self.count = count
        self.result = result


def assemble(
    attempts: Mapping[int, Attempt], requirements: Sequence[Any], winner: Attempt | None, reason: Reason, **more: Any
) -> SamplingResult:
    """The result of finished attempts."""
    ordered = [attempts[number] for number in sorted(attempts)]
    judged = [attempt for attempt in ordered if attempt.judged]
    usage = UsageTotal()
    for attempt in ordered:
        usage.plus(attempt.usage)
    return SamplingResult(
        success=winner is not None and winner.status == "passed",
        reason=reason,
        result_index=None if winner is None else judged.index(winner),
        sample_generations=[attempt.output for attempt in judged],
        sample_validations=[list(zip(requirements, attempt.verdicts, strict=True)) for attempt in judged],
        attempts=ordered,
        usage=usage,
        **more,
    )
