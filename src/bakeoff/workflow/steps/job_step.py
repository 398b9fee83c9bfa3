"""Job steps, which carry out a job: their fields evaluated, their beginnings, the record at the end, `apply`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.errors import BakeoffError, BudgetSpentError
from bakeoff.jobs.landing import Work, land
from bakeoff.sampling.attempt.checkpoint import MODEL_KINDS
from bakeoff.sampling.result import Reason, SamplingError, SamplingResult
from bakeoff.workflow.context import Halt, NodeContext, halted_by
from bakeoff.workflow.steps.leaf import retry_of
from bakeoff.workflow.steps.shell import log_prefix
from bakeoff.workflow.values import as_text, number, plain
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.snapshot.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace


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
    """One beginning of a job step: the first, or another after it had ended without success.

    Attributes:
        decision: name of the decision, by path and number, that keeps what was asked for at a beginning.
        number: which, from 1.
        key: of the step, as far as it is known.
    """

    context: NodeContext
    decision: Callable[[str, int], str]
    number: int
    started_at: float
    key: str

    @classmethod
    def of(cls, context: NodeContext, decision: Callable[[str, int], str]) -> Beginning:
        """The step's next beginning, or the one that was interrupted; announced."""
        ended = context.run.history.records.get(context.path)
        number = 1 if ended is None else ended.attempts + 1
        return cls(context, decision, number, context.started(), context.key())

    @property
    def decided(self) -> Mapping[str, Any] | None:
        """The request of this beginning, where it was interrupted after that was decided."""
        return self._decided(self.number)

    def _decided(self, number: int) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self.context.run.history.decisions.get(
            self.decision(self.context.path, number)
        )
        return found

    @property
    def snapshot(self) -> Snapshot | None:
        """The snapshot of `decided`."""
        return None if self.decided is None else Snapshot(**{**self.decided["snapshot"], "left_out": ()})

    async def decide(self, version: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Decide a request, once: with its `version` and the `prefix` of its nodes' paths.

        Nodes of the same version are not made again only because the step is begun again.

        Args:
            version: what the nodes depend on.
            asked: the rest of the request, as JSON.
        """
        path = self.context.path
        before = next(filter(None, map(self._decided, range(self.number - 1, 0, -1))), None)
        prefix = path if self.number == 1 else f"{path}/again:{self.number}"
        if before is not None and before["version"] == version:
            prefix = before["prefix"]
        decided = {**asked, "prefix": prefix, "version": version}
        found: dict[str, Any] = await self.context.run.decide(self.decision(path, self.number), lambda: decided)
        return found

    async def adopted(self, key: str) -> Record | None:
        """Set the step's key; the record of an equal step that ended before an edit, if there is one."""
        self.key = key
        return await self.context.run.kept(self.context.path, key)

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


def snapshot_json(workspace: Workspace) -> dict[str, Any]:
    """The snapshot of a request."""
    return {**asdict(workspace.snapshot), "left_out": []}


class JobStep(ABC):
    """A step type that carries out a job: what it makes and judges are leaves below it.

    It holds no lane while they wait for theirs.

    Attributes:
        refusals: errors that are the step's failure; others, and that a budget is spent, end the run.
    """

    untrusted = True
    container = True
    refusals: ClassVar[tuple[type[BakeoffError], ...]] = (BakeoffError,)

    @staticmethod
    @abstractmethod
    def decision(path: str, number: int) -> str:
        """Name of the decision by which the step at `path` begins for the nth time."""

    @abstractmethod
    async def carry_out(self, begun: Beginning) -> Outcome | Record:
        """Do the job; returns its outcome, or the record that was adopted."""

    async def run(self, step: Any, context: NodeContext) -> Halt | None:
        """Carry the step out, unless it has ended already."""
        record = await context.run.kept(context.path) or await self._record(context)
        context.scope.follow(record.key)
        context.add(record)
        return halted_by(context, record)

    async def _record(self, context: NodeContext) -> Record:
        begun = Beginning.of(context, self.decision)
        try:
            found = await self.carry_out(begun)
        except BudgetSpentError:
            raise
        except self.refusals as failure:
            kind = "workspace" if isinstance(failure, WorkspaceError) else getattr(failure, "kind", "error")
            found = Outcome(Status.FAILED, {}, str(failure), kind)
        return found if isinstance(found, Record) else await begun.end(found)


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


APPLY = "apply"
"""The lane of results that are put into the user's files: one at a time."""


async def land_result(
    context: NodeContext, outcome: Outcome, work: Work, said: str, *, with_tests: bool = False
) -> None:
    """Do what the step's `apply` says with its result; that it could not be done is the step's failure.

    It is a leaf of its own, `STEP/apply`: a resumed run that finds it done does not do it again.

    Args:
        context: the step.
        outcome: how it ended; it is told what was done.
        work: the result.
        said: what went well before, for the message where this does not.
        with_tests: take over changed tests, too.

    Passes on ExpressionError: `apply` cannot be evaluated.
    """
    wanted = plain(context.value("apply"))
    if wanted in (None, False, ""):
        return
    name = None if wanted is True else as_text(wanted)
    project = Path(os.path.realpath(context.run_context.project))

    async def leaf(_: int) -> Outcome:
        try:
            landed = await in_thread(land, project, work, name, with_tests)
        except WorkspaceError as failure:
            return Outcome(Status.FAILED, error=str(failure), kind="conflict")
        return Outcome(output=landed.to_json())

    key, lanes = context.key("apply", work.facts, name), (APPLY, *context.run_context.lanes)
    record = await context.run.leaf(f"{context.path}/apply", "apply", leaf, key=key, lanes=lanes)
    if record.status is Status.COMPLETED:
        outcome.output = {**outcome.output, "applied": dict(record.output)}
    else:
        outcome.status, outcome.kind = Status.FAILED, record.kind
        outcome.error = f"{said}, but the result was not applied: {record.error}"
