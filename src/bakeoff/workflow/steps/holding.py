"""Steps whose attempts are nodes below them: their common fields, beginnings, the record at the end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.errors import BakeoffError, BudgetSpentError
from bakeoff.sampling.attempt.checkpoint import MODEL_KINDS
from bakeoff.sampling.result import Reason, SamplingError, SamplingResult
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.steps.leaf import retry_of
from bakeoff.workflow.steps.shell import log_prefix
from bakeoff.workflow.values import as_text, number


class RefusedError(BakeoffError):
    """A step cannot be begun as it is; `kind` is that of the step's failure."""

    def __init__(self, message: str, kind: str = "error") -> None:
        super().__init__(message)
        self.kind = kind


def text(context: NodeContext, name: str) -> str | None:
    """A field's text; None where it is left out or empty. Passes on ExpressionError: it cannot be evaluated."""
    return None if getattr(context.step, name) is None else as_text(context.value(name)) or None


def texts(context: NodeContext, name: str) -> tuple[str, ...]:
    """The texts of a field that is one text or a list, without empty ones; as `text`."""
    written = getattr(context.step, name)
    values = context.values(name).values() if isinstance(written, list) else [context.value(name)]
    return tuple(found for value in values if (found := as_text(value)).strip())


def amount(context: NodeContext, name: str, *, whole: bool = False) -> Any:
    """A field's number; None where it is left out.

    Passes on ExpressionError: it cannot be evaluated.

    Raises:
        RefusedError: it is none.
    """
    try:
        return number(context.value(name), whole=whole)
    except ValueError as failure:
        raise RefusedError(f"`{name}`: {failure}") from None


def ceiling(context: NodeContext, name: str) -> Any:
    """A field's number above 0; None where it is left out. As `amount`."""
    found = amount(context, name)
    return None if found is None else above_nothing(found, f"`{name}`", context)


def above_nothing(found: float, what: str, context: NodeContext) -> float:
    """The number.

    Raises:
        RefusedError: it is not above 0; the message names the line of the step.
    """
    if found <= 0:
        raise RefusedError(
            f"{what} must be a number above 0, not {found:g} (the step is in line {context.step.position[0]})"
        )
    return found


def count(context: NodeContext, name: str, least: int = 1) -> int:
    """A field's whole number, `least` where it is left out.

    Passes on ExpressionError: it cannot be evaluated.

    Raises:
        RefusedError: it is none, or less than that.
    """
    found = amount(context, name, whole=True)
    if found is None:
        return least
    if found < least:
        raise RefusedError(f"`{name}` must be at least {least}, not {found}")
    return int(found)


@dataclass(slots=True)
class Beginning:
    """One beginning of a step: the first, or another after it had ended without success.

    Attributes:
        context: the step.
        number: which, from 1.
        started_at: when, by the wall clock.
        key: of the step, as far as it is known.
    """

    context: NodeContext
    number: int
    started_at: float
    key: str

    @classmethod
    def of(cls, context: NodeContext) -> Beginning:
        """The step's next beginning, or the one that was interrupted; announced."""
        ended = context.run.history.records.get(context.path)
        return cls(context, 1 if ended is None else ended.attempts + 1, context.started(), context.key())

    def prefix(self, version: str, before: Mapping[str, Any] | None) -> str:
        """The path for attempts of this version; they are not made again only because the step is begun again.

        Args:
            version: what the attempts depend on.
            before: what was decided at the beginning before: `prefix` and `version`.
        """
        if before is not None and before["version"] == version:
            return str(before["prefix"])
        path = self.context.path
        return path if self.number == 1 else f"{path}/again:{self.number}"

    def label(self, prefix: str) -> str:
        """Prefix for names of files and results; no path of a step reads so."""
        name = os.path.basename(log_prefix(self.context))
        again = prefix.removeprefix(self.context.path).rpartition(":")[2]
        return f"{name}:{again}:" if again else f"{name}:"

    async def end(self, outcome: Outcome) -> Record:
        """Commit the step's record."""
        context, run = self.context, self.context.run
        record = Record(
            context.path,
            context.step.type,
            outcome.status,
            outcome.output,
            outcome.error,
            outcome.kind,
            outcome.input,
            facts=outcome.facts,
            key=self.key,
            started_at=self.started_at,
            ended_at=max(self.started_at, run.clock.wall()),
            attempts=self.number,
            continued=context.step.continue_on_error and outcome.status is Status.FAILED,
        )
        return await run.commit(record)


def retry_for(context: NodeContext) -> Retry:
    """The policy for calls and checks below the step; the kinds by the names that they have in sampling."""
    if context.step.retry is None:
        return ONCE
    wanted = retry_of(context.step.retry)
    return replace(wanted, on=tuple(MODEL_KINDS.get(kind, kind) for kind in wanted.on))


def refuse_spent(context: NodeContext, reserve: Mapping[str, float]) -> None:
    """Say so where it is the run's budget that is spent, and not the step's own.

    Raises:
        BudgetSpentError: it is.
    """
    budget = context.run.budget
    for kind in reserve.keys() & budget.ceilings.keys():
        if reserve[kind] > budget.left(kind) + 1e-9:
            raise BudgetSpentError(
                f"the budget is spent: {reserve[kind]:g} {kind} asked for by step {context.path}, "
                f"{budget.left(kind):g} of {budget.ceilings[kind]:g} left"
            )


def ended(
    result: SamplingResult, output: Mapping[str, Any], given: Mapping[str, Any], failure: SamplingError | None = None
) -> Outcome:
    """Outcome of a step whose sampling ended; without success it is a failure that says what was closest, and why."""
    best = result.winner
    facts: dict[str, Any] = {"winner": None, "closest": None, "reason": result.reason.value}
    if best is not None:
        facts["winner" if result.success else "closest"] = best.id
    used = result.usage
    usage = {name: getattr(used, name) for name in ("calls", "input_tokens", "output_tokens", "usd", "unknown")}
    outcome = Outcome(output={**output, **facts, "usage": usage}, input=given, facts=facts)
    if not result.success:
        outcome.status = Status.FAILED
        outcome.error, outcome.kind = (str(failure), failure.kind) if failure is not None else _why(result)
    return outcome


def _why(result: SamplingResult) -> tuple[str, str]:
    """Why nothing passed, in words and as a kind."""
    count, best = len(result.attempts), result.winner
    said = f"none of {count} attempts passed" if count != 1 else "the attempt did not pass"
    if result.reason is Reason.CAP:
        spent = [error.message for error in result.errors.values() if error.kind == "budget"]
        said = f"{spent[-1] if spent else 'the budget is spent'}; {said}"
    if best is not None:
        verdicts = result.result_validations
        near = f"closest is attempt {best.id}, which meets {best.met} of {len(verdicts)}"
        said += f"; {near}" if best.near else f"; none came close, attempt {best.id} neither"
        failed = [f"`{one.description}`: {_first_line(verdict)}" for one, verdict in verdicts if not verdict.result]
        said = "; ".join([said, *failed[:1]])
    else:
        said = "; ".join([said, *(f"attempt {number}: {error}" for number, error in list(result.errors.items())[:3])])
    kinds = {error.kind for error in result.errors.values()}
    if result.reason is Reason.CAP:
        return said, "budget"
    return said, kinds.pop() if best is None and len(kinds) == 1 else "no-winner"


def _first_line(verdict: Any) -> str:
    said = str(verdict.reason or verdict.error or verdict.verdict).strip()
    return said.partition("\n")[0] or verdict.verdict


def verdicts_of(result: SamplingResult) -> list[dict[str, Any]]:
    """The verdicts on the chosen attempt."""
    return [
        {"check": str(requirement.description), "verdict": verdict.verdict, "reason": verdict.reason,
         "score": verdict.score, "error": verdict.error, "receipt": verdict.receipt}
        for requirement, verdict in result.result_validations
    ]  # fmt: skip
