"""`attempt`: coding agents try a task in slots of their own, commands judge what they made, the best is kept."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bakeoff.agent.entry import Entry
from bakeoff.agent.override import find_executable
from bakeoff.agent.registry import find_entry
from bakeoff.engine.errors import BakeoffError, BudgetSpentError
from bakeoff.engine.process import Command, Finished, Processes
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.sampling.attempt.attempts import Attempts, reserve_for
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.standing import Asked, asked_name
from bakeoff.sampling.result import Reason, SamplingError, SamplingResult
from bakeoff.workflow.interpreter import Halt, Place, halted_by
from bakeoff.workflow.models import Amount, Count, Interpolated, Positive, ShellText, StepModel, Text, Whole
from bakeoff.workflow.scope import digest
from bakeoff.workflow.steps.agent import reservation
from bakeoff.workflow.steps.in_slot import SLOTS, tree_now, workspaces
from bakeoff.workflow.steps.landing import land_winner
from bakeoff.workflow.steps.leaf import retry_of
from bakeoff.workflow.steps.shell import log_prefix, step_environment
from bakeoff.workflow.values import as_text, number
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace

Commands = Annotated[str | list[str], ShellText()]
Globs = Annotated[str | list[str], Interpolated()]


class Attempt(StepModel):
    """Has a coding agent attempt a task several times, each in a place of its own, and keeps what passes the checks."""

    agent_key: ClassVar[str | None] = "agent"

    task: Text = Field(description="What the agent is to do.", min_length=1)
    agent: Text | None = Field(None, description="Which agent; the workflow's own if left out.")
    model: Text | None = Field(None, description="The agent's model; its own default if left out.")
    attempts: Count = Field(1, description="Independent attempts.")
    repair: Whole = Field(0, description="Repairs of each that fails.")
    concurrency_budget: Count = Field(1, description="The same as `attempts`.")
    loop_budget: Count = Field(
        1, description="Rounds of each lane: an attempt and its repairs, so one more than `repair`."
    )
    check: Commands | None = Field(None, description="Commands that must end with exit status 0.")
    score: Annotated[str | None, ShellText()] = Field(
        None, description="A command that prints a number, the last one counts: the highest wins."
    )
    base: Text | None = Field(None, description="A commit to start from instead of the files as they are.")
    may_edit: Globs | None = Field(None, description="Tests or test configuration that attempts may change.")
    protect: Globs | None = Field(None, description="Further files that attempts may not change.")
    max_cost: Amount = Field(None, description="Ceiling on the money of these attempts, in US dollars.")
    max_tokens: Amount = Field(None, description="Ceiling on their tokens.")
    max_calls: Amount = Field(None, description="Ceiling on calls of the agent.")
    agent_timeout: Positive | None = Field(None, description="Seconds for one call of the agent.")
    check_timeout: Positive | None = Field(None, description="Seconds for one check.")
    mode: Literal["deterministic", "fastest"] = Field(
        "deterministic", description="The first attempt that passes, or whichever passes first."
    )
    apply: Annotated[bool | str | None, Interpolated()] = Field(
        None, description="true: write the winner's changes into the files; a text: make a branch of that name."
    )
    with_tests: bool = Field(False, description="Apply the winner with its own changes to tests.")

    @property
    def most_calls(self) -> int | None:
        """Calls of the agent at most; None where expressions say how many attempts there are."""
        counts = (self.attempts, self.concurrency_budget, self.repair, self.loop_budget)
        if any(isinstance(count, str) for count in counts):
            return None
        return int(max(self.attempts, self.concurrency_budget) * max(self.repair + 1, self.loop_budget))


@dataclass(frozen=True, slots=True)
class _WithEnvironment:
    """Processes that have a step's variables, below their own."""

    processes: Processes
    env: Mapping[str, str | None]

    async def run(self, command: Command) -> Finished:
        return await self.processes.run(replace(command, env={**self.env, **command.env}))


class RefusedError(BakeoffError):
    """A step cannot be begun as it is; `kind` is that of the step's failure."""

    def __init__(self, message: str, kind: str = "error") -> None:
        super().__init__(message)
        self.kind = kind


class AttemptStep:
    """The step type. Its calls and checks are leaves below it; it holds no place while they wait for theirs."""

    name = "attempt"
    model = Attempt
    untrusted = True
    container = True
    retries = True

    def check(self, raw: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
        """What is wrong with a step besides its fields."""
        if raw.get("check") in (None, "", []) and not raw.get("score"):
            yield None, "there is nothing to judge by: give `check`, as in `check: pytest -q`"
        for name, other in (("concurrency_budget", "attempts"), ("loop_budget", "repair")):
            if name in raw and other in raw:
                yield name, f"`{name}` and `{other}` say the same; take one out"
        if raw.get("cwd") is not None:
            yield "cwd", "`cwd` has no effect here: agents and checks start at the top of their work tree"
        if raw.get("with_tests") and raw.get("apply") in (None, False):
            yield "with_tests", "`with_tests` means nothing without `apply`"

    async def run(self, step: Attempt, place: Place) -> Halt | None:
        """Make the attempts, unless the step has ended already."""
        record = await place.run.kept(place.path) or await _Step(place).carry_out()
        place.scope.follow(record.key)
        place.add(record)
        return halted_by(place, record)

    def key_now(self, place: Place) -> str:
        """The step's key, were it to begin now. It blocks.

        Passes on ExpressionError and RefusedError: a field cannot be used.
        """
        options = options_of(place)
        return _key(place, options, tree_now(place.setting, options.base))


def options_of(place: Place) -> AttemptOptions:
    """What a step asks for, evaluated.

    Passes on ExpressionError: a field cannot be evaluated.

    Raises:
        RefusedError: a value cannot be used.
    """
    step = place.step

    def text(name: str) -> str | None:
        return None if getattr(step, name) is None else as_text(place.value(name)) or None

    def texts(name: str) -> tuple[str, ...]:
        written = getattr(step, name)
        values = place.values(name).values() if isinstance(written, list) else [place.value(name)]
        return tuple(as_text(value) for value in values if value is not None)

    def amount(name: str, whole: bool = False) -> Any:
        try:
            return number(place.value(name), whole=whole)
        except ValueError as failure:
            raise RefusedError(f"`{name}`: {failure}") from None

    attempts, rounds = amount("attempts", True) or 1, amount("loop_budget", True) or 1
    given: dict[str, Any] = {
        "task": as_text(place.value("task")),
        "agent": text("agent") or place.setting.defaults.get("integration"),
        "model": text("model") or place.setting.defaults.get("model"),
        "attempts": max(attempts, amount("concurrency_budget", True) or 1),
        "repair": max(amount("repair", True) or 0, rounds - 1),
        "checks": texts("check"),
        "score": text("score"),
        "base": text("base"),
        "may_edit": texts("may_edit"),
        "protect": texts("protect"),
        "max_cost": amount("max_cost"),
        "max_tokens": amount("max_tokens"),
        "max_calls": amount("max_calls"),
        "timeout": step.agent_timeout,
        "check_timeout": step.check_timeout,
        "mode": step.mode,
    }
    try:
        return AttemptOptions(**given)
    except BakeoffError as failure:
        raise RefusedError(str(failure)) from failure


_CEILINGS = ("max_cost", "max_tokens", "max_calls")


def _meaning(options: AttemptOptions) -> dict[str, Any]:
    """What results depend on."""
    return {name: value for name, value in options.to_json().items() if name not in _CEILINGS}


def _key(place: Place, options: AttemptOptions, tree: str) -> str:
    return place.key(_meaning(options), place.step.apply, {"tree": tree})


class _Step:
    """One beginning of one step: the first, or another after it had ended without a winner."""

    def __init__(self, place: Place) -> None:
        self.place, self.run = place, place.run
        ended = self.run.history.records.get(place.path)
        self.number = 1 if ended is None else ended.attempts + 1
        self.started = 0.0
        self.key = place.key()

    async def carry_out(self) -> Record:
        """The step's record, committed.

        Passes on ExpressionError: a field cannot be evaluated. BudgetSpentError: the run's budget is spent.
        """
        place = self.place
        self.started = place.started()
        try:
            options = self._decided_options() or options_of(place)
            snapshot = self._decided_snapshot()
            async with workspaces(place.setting).using(options.base, snapshot) as workspace:
                asked = await self._decide(options, workspace)
                self.key = _key(place, asked.options, workspace.snapshot.tree)
                adopted = await self.run.kept(place.path, self.key)
                if adopted is not None:
                    return adopted
                outcome = await self._attempts(asked, workspace)
        except (RefusedError, WorkspaceError) as failure:
            kind = failure.kind if isinstance(failure, RefusedError) else "workspace"
            outcome = Outcome(Status.FAILED, {}, str(failure), kind)
        return await self._commit(outcome)

    async def _commit(self, outcome: Outcome) -> Record:
        place = self.place
        return await self.run.commit(
            Record(
                place.path,
                place.step.type,
                outcome.status,
                outcome.output,
                outcome.error,
                outcome.kind,
                outcome.input,
                facts=outcome.facts,
                key=self.key,
                started_at=self.started,
                ended_at=max(self.started, self.run.clock.wall()),
                attempts=self.number,
                absorbed=place.step.continue_on_error and outcome.status is Status.FAILED,
            )
        )

    # What was asked for is decided once, so that a resumed run goes on with the same attempts.

    def _kept(self, number: int) -> Asked | None:
        kept = self.run.history.decisions.get(asked_name(self.place.path, number))
        return None if kept is None else Asked.from_json(kept)

    def _decided_options(self) -> AttemptOptions | None:
        kept = self._kept(self.number)
        return None if kept is None else kept.options

    def _decided_snapshot(self) -> Snapshot | None:
        kept = self._kept(self.number)
        return None if kept is None else Snapshot(**{**kept.snapshot, "left_out": ()})

    async def _decide(self, options: AttemptOptions, workspace: Workspace) -> Asked:
        path = self.place.path
        version = digest("attempt", _meaning(options), workspace.snapshot.tree)
        before = next((kept for kept in map(self._kept, range(self.number - 1, 0, -1)) if kept is not None), None)
        # The same attempts of the same files are not made again, only because the step is.
        prefix = path if self.number == 1 else f"{path}/again:{self.number}"
        if before is not None and before.version == version:
            prefix = before.prefix
        snapshot = {**asdict(workspace.snapshot), "left_out": []}
        asked = Asked(options, snapshot, prefix, version)
        return Asked.from_json(await self.run.decide(asked_name(path, self.number), asked.to_json))

    async def _attempts(self, asked: Asked, workspace: Workspace) -> Outcome:
        place, run, options = self.place, self.run, asked.options
        setting = place.setting
        entry, reserve = _agent(place, options)
        tokens = run.budget.ceilings.get("tokens")
        attempts = Attempts(
            options,
            setting.settings,
            entry,
            reserve,
            prefix=asked.prefix,
            version=asked.version,
            label=_label(place, asked.prefix),
            lanes=(SLOTS, *setting.lanes),
            retry=_retry(place),
            budget=True,
            all_tokens=None if tokens is None else int(tokens) + 1,
        )
        setting.announce()
        if place.step.most_calls is None and place.step.position not in setting.said:
            setting.said.add(place.step.position)
            setting.warn(f"step {place.path}: {attempts.announcement()}")
        processes = _WithEnvironment(setting.processes, step_environment(place))
        try:
            result = await attempts.make(run, workspace, processes, resumed=True)
        except SamplingError as failure:
            return self._ended(failure.result, asked, failure)
        if result.reason is Reason.CAP and not result.success:
            _refuse_spent(place, reserve)
        outcome = self._ended(result, asked)
        if result.success:
            await land_winner(place, asked, outcome)
        return outcome

    def _ended(self, result: SamplingResult, asked: Asked, failure: SamplingError | None = None) -> Outcome:
        """How the attempts ended, as the step's outcome."""
        best = result.winner
        won = best is not None and result.success
        facts: dict[str, Any] = {"winner": None, "closest": None, "reason": result.reason.value}
        if best is not None:
            facts["winner" if won else "closest"] = best.id
        output = _output(result, asked) | facts
        given = {"task": asked.options.task, "agent": asked.options.agent, "checks": list(asked.options.checks)}
        if won:
            return Outcome(output=output, input=given, facts=facts)
        error, kind = (str(failure), failure.kind) if failure is not None else _why(result, asked.options)
        return Outcome(Status.FAILED, output, error, kind, given, facts=facts)


def _agent(place: Place, options: AttemptOptions) -> tuple[Entry, dict[str, float]]:
    """The agent, and what one call of it may use of the budgets.

    Raises:
        RefusedError: there is none of that name, or what it uses cannot be known.
    """
    setting = place.setting
    try:
        entry = find_entry(options.agent, setting.settings)
        find_executable(entry, setting.project, entry.env)
        return entry, {**reservation(entry, setting), **reserve_for(options, setting.settings, entry)}
    except BakeoffError as failure:
        raise RefusedError(str(failure), getattr(failure, "kind", "error")) from failure


def _label(place: Place, prefix: str) -> str:
    """What names of files and results begin with; no path of a step reads so."""
    name = os.path.basename(log_prefix(place))
    again = prefix.removeprefix(place.path).rpartition(":")[2]
    return f"{name}:{again}:" if again else f"{name}:"


def _retry(place: Place) -> Retry:
    """The policy for calls of agents and checks; kinds by the names that they have in sampling."""
    if place.step.retry is None:
        return ONCE
    wanted = retry_of(place.step.retry)
    names = {"rate-limit": "rate_limit", "cut-stream": "cut", "missing": "not_found", "output": "agent"}
    return replace(wanted, on=tuple(names.get(kind, kind) for kind in wanted.on))


def _refuse_spent(place: Place, reserve: Mapping[str, float]) -> None:
    """Say so where it is the run's budget that is spent, and not the step's own.

    Raises:
        BudgetSpentError: it is.
    """
    budget = place.run.budget
    for kind in reserve.keys() & budget.ceilings.keys():
        if reserve[kind] > budget.left(kind) + 1e-9:
            raise BudgetSpentError(
                f"the budget is spent: {reserve[kind]:g} {kind} asked for by step {place.path}, "
                f"{budget.left(kind):g} of {budget.ceilings[kind]:g} left"
            )


def _output(result: SamplingResult, asked: Asked) -> dict[str, Any]:
    """What later steps may use: of the winner, or of the best failure, all there is; of the others how they ended."""
    best, used = result.winner, result.usage
    output: dict[str, Any] = {
        "snapshot": asked.snapshot["commit"],
        "usage": {
            "calls": used.calls,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "usd": used.usd,
            "unknown": used.unknown,
        },
        "attempts": [
            {
                "id": attempt.id,
                "lane": attempt.lane,
                "round": attempt.round,
                "status": attempt.status,
                "score": attempt.score,
                "error": None if attempt.error is None else str(attempt.error),
                "commit": attempt.receipt.get("judged"),
            }
            for attempt in result.attempts
        ],
    }
    if best is None:
        return output
    facts = best.receipt
    return output | {
        "commit": facts.get("judged"),
        "whole": facts.get("commit"),
        "ref": facts.get("ref"),
        "tree": facts.get("tree"),
        "diff": facts.get("diff"),
        "tests_changed": facts.get("tests_changed", []),
        "score": best.score,
        "text": facts.get("text", ""),
        "session_id": facts.get("session_id"),
        "agent": facts.get("agent"),
        "verdicts": _verdicts(result),
    }


def _verdicts(result: SamplingResult) -> list[dict[str, Any]]:
    return [
        {
            "check": str(requirement.description),
            "verdict": verdict.verdict,
            "reason": verdict.reason,
            "score": verdict.score,
            "error": verdict.error,
            "receipt": verdict.receipt,
        }
        for requirement, verdict in result.result_validations
    ]


def _why(result: SamplingResult, options: AttemptOptions) -> tuple[str, str]:
    """Why there is no winner, in words and as a kind."""
    count, best = len(result.attempts), result.winner
    made = f"none of {count} attempts passed" if count != 1 else "the attempt did not pass"
    if result.reason is Reason.CAP:
        spent = [error.message for error in result.errors.values() if error.kind == "budget"]
        made = f"{spent[-1] if spent else 'the budget of the step is spent'}; {made}"
    parts = [made]
    if best is not None:
        verdicts = result.result_validations
        parts[0] += f"; closest is attempt {best.id}, which meets {best.met} of {len(verdicts)}"
        parts += [f"`{one.description}`: {_first(verdict)}" for one, verdict in verdicts if not verdict.result][:1]
    else:
        parts += [f"attempt {number}: {error}" for number, error in list(result.errors.items())[:3]]
    kinds = {error.kind for error in result.errors.values()}
    if result.reason is Reason.CAP:
        return "; ".join(parts), "budget"
    return "; ".join(parts), kinds.pop() if best is None and len(kinds) == 1 else "no-winner"


def _first(verdict: Any) -> str:
    lines: Iterable[str] = (verdict.reason or verdict.error or verdict.verdict).strip().splitlines()
    return next(iter(lines), verdict.verdict)
