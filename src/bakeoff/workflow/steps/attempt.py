"""`attempt`: coding agents try a task in slots of their own, commands judge what they made, the best is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

from pydantic import Field

from bakeoff.agent.entry import Entry
from bakeoff.agent.registry import find_entry
from bakeoff.agent.runner import AgentRequest, check_request
from bakeoff.engine.record import Outcome, Record
from bakeoff.errors import BakeoffError
from bakeoff.jobs.landing import Work, title_of
from bakeoff.process.command import Command, Finished, Processes
from bakeoff.sampling.attempt.attempts import Attempts, reserve_for
from bakeoff.sampling.attempt.options import MOST_CALLS, AttemptOptions, Mode
from bakeoff.sampling.attempt.preflight import PreflightError
from bakeoff.sampling.attempt.view import asked_name
from bakeoff.sampling.result import Reason, SamplingError, SamplingResult
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.models import (
    Apply,
    Ceiling,
    Commands,
    Count,
    Names,
    Positive,
    ShellText,
    StepModel,
    Text,
    Whole,
    apply_field,
    option_field,
)
from bakeoff.workflow.scope import digest
from bakeoff.workflow.steps.agent import reservation
from bakeoff.workflow.steps.in_slot import SLOTS, tree_now, workspaces
from bakeoff.workflow.steps.job_step import (
    Beginning,
    JobStep,
    RefusedError,
    ceiling,
    count,
    ended,
    land_result,
    refuse_spent,
    retry_for,
    snapshot_json,
    text,
    texts,
    verdicts_of,
)
from bakeoff.workflow.steps.shell import step_environment
from bakeoff.workflow.values import as_text
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.workspace import Workspace

_option = partial(option_field, AttemptOptions)


class Attempt(StepModel):
    """Has a coding agent attempt a task several times, each in a place of its own, and keeps what passes the checks."""

    agent_key: ClassVar[str | None] = "agent"

    task: Text = _option("task")
    agent: Text | None = _option("agent")
    model: Text | None = _option("model")
    attempts: Count = _option("attempts")
    repair: Whole = _option("repair")
    concurrency_budget: Count = Field(1, description="The same as `attempts`.")
    loop_budget: Count = Field(
        1, description="Rounds of each lane: an attempt and its repairs, so one more than `repair`."
    )
    check: Commands | None = _option("checks")
    score: Annotated[str | None, ShellText()] = _option("score")
    preflight: bool = _option("preflight")
    require_red: bool = _option("require_red")
    base: Text | None = _option("base")
    may_edit: Names | None = _option("may_edit")
    protect: Names | None = _option("protect")
    max_cost: Ceiling = _option("max_cost")
    max_tokens: Ceiling = _option("max_tokens")
    max_calls: Ceiling = _option("max_calls")
    agent_timeout: Positive | None = _option("timeout")
    check_timeout: Positive | None = _option("check_timeout")
    mode: Mode = _option("mode")
    apply: Apply = apply_field()
    with_tests: bool = Field(False, description="Apply the winner with its own changes to tests.")

    @property
    def most_calls(self) -> int | None:
        """Calls of the agent at most; None where expressions say how many attempts there are."""
        counts = (self.attempts, self.concurrency_budget, self.repair, self.loop_budget)
        if any(isinstance(count, str) for count in counts):
            return None
        return int(max(self.attempts, self.concurrency_budget) * max(self.repair + 1, self.loop_budget))

    @property
    def has_ceilings(self) -> bool:
        """Whether what this step alone may use is bounded."""
        return any(ceiling is not None for ceiling in (self.max_cost, self.max_tokens, self.max_calls))


@dataclass(frozen=True, slots=True)
class _WithEnvironment:
    """Processes that have a step's variables, below their own."""

    processes: Processes
    env: Mapping[str, str | None]

    async def run(self, command: Command) -> Finished:
        return await self.processes.run(replace(command, env={**self.env, **command.env}))


class AttemptStep(JobStep):
    """The step type."""

    name = "attempt"
    model = Attempt
    retries = True
    refusals = (RefusedError, WorkspaceError)
    decision = staticmethod(asked_name)

    def check(self, raw: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
        """Check of a step besides its fields: what is wrong with it."""
        if raw.get("check") in (None, "", []) and not raw.get("score"):
            yield None, "there is nothing to judge by: give `check`, as in `check: pytest -q`"
        for name, other in (("concurrency_budget", "attempts"), ("loop_budget", "repair")):
            if name in raw and other in raw:
                yield name, f"`{name}` and `{other}` say the same; take one out"
        each = [raw.get(name) for name in ("attempts", "concurrency_budget")]
        rounds = [raw.get("repair", 0), raw.get("loop_budget", 1)]
        if all(isinstance(count, int | None) for count in (*each, *rounds)):
            calls = max(count or 1 for count in each) * max((rounds[0] or 0) + 1, rounds[1] or 1)
            if calls > MOST_CALLS:
                yield None, f"it may make {calls:,} calls of the agent; {MOST_CALLS:,} are the most of one run"
        if raw.get("cwd") is not None:
            yield "cwd", "`cwd` has no effect here: agents and checks start at the top of their work tree"
        if raw.get("with_tests") and raw.get("apply") in (None, False):
            yield "with_tests", "`with_tests` means nothing without `apply`"

    async def carry_out(self, begun: Beginning) -> Outcome | Record:
        """Decide what is asked for, and make the attempts.

        Passes on ExpressionError: a field cannot be evaluated. BudgetSpentError: the run's budget is spent.
        """
        context, decided = begun.context, begun.decided
        options = options_of(context) if decided is None else AttemptOptions.from_json(decided["options"])
        async with (await workspaces(context.run_context)).using(options.base, begun.snapshot) as workspace:
            tree = workspace.snapshot.tree
            # Attempts that are there stay when more are asked for.
            meaning = {name: value for name, value in _meaning(options).items() if name not in ("attempts", "mode")}
            asked = {"options": options.to_json(), "snapshot": snapshot_json(workspace)}
            request = await begun.decide(digest("attempt", meaning, tree), asked)
            return await begun.adopted(_key(context, options, tree)) or await _attempts(
                begun, options, request, workspace
            )

    def key_now(self, context: NodeContext) -> str:
        """The step's key, were it to begin now. It blocks.

        Passes on ExpressionError and RefusedError: a field cannot be used.
        """
        options = options_of(context)
        return _key(context, options, tree_now(context.run_context, options.base))


def options_of(context: NodeContext) -> AttemptOptions:
    """Options that a step asks for, evaluated.

    Passes on ExpressionError: a field cannot be evaluated.

    Raises:
        RefusedError: a value cannot be used.
    """
    given: dict[str, Any] = {
        "task": as_text(context.value("task")),
        "agent": text(context, "agent") or context.run_context.defaults.get("integration"),
        "model": text(context, "model") or context.run_context.defaults.get("model"),
        "attempts": max(count(context, "attempts"), count(context, "concurrency_budget")),
        "repair": max(count(context, "repair", 0), count(context, "loop_budget") - 1),
        "checks": texts(context, "check"),
        "score": text(context, "score"),
        "base": text(context, "base"),
        "may_edit": texts(context, "may_edit"),
        "protect": texts(context, "protect"),
        "max_cost": ceiling(context, "max_cost"),
        "max_tokens": ceiling(context, "max_tokens"),
        "max_calls": ceiling(context, "max_calls"),
        "timeout": context.step.agent_timeout,
        "check_timeout": context.step.check_timeout,
        "preflight": context.step.preflight,
        "require_red": context.step.require_red,
        "mode": context.step.mode,
    }
    try:
        return AttemptOptions(**given)
    except BakeoffError as failure:
        raise RefusedError(str(failure)) from failure


_NOT_MEANT = ("max_cost", "max_tokens", "max_calls", "preflight", "require_red")


def _meaning(options: AttemptOptions) -> dict[str, Any]:
    """Options that the step's result depends on."""
    return {name: value for name, value in options.to_json().items() if name not in _NOT_MEANT}


def _key(context: NodeContext, options: AttemptOptions, tree: str) -> str:
    return context.key(_meaning(options), context.step.apply, {"tree": tree})


async def _attempts(
    begun: Beginning, options: AttemptOptions, asked: Mapping[str, Any], workspace: Workspace
) -> Outcome:
    context, run, run_context = begun.context, begun.context.run, begun.context.run_context
    entry, reserve = _agent(context, options)
    tokens = run.budget.ceilings.get("tokens")
    attempts = Attempts(
        options,
        run_context.settings,
        entry,
        reserve,
        prefix=asked["prefix"],
        version=asked["version"],
        label=begun.label(asked["prefix"]),
        lanes=(SLOTS, *run_context.lanes),
        retry=retry_for(context),
        budget=True,
        all_tokens=None if tokens is None else int(tokens) + 1,
        env=step_environment(context),
    )
    run_context.announce()
    if context.step.most_calls is None and context.step.position not in run_context.said:
        run_context.said.add(context.step.position)
        context.say(attempts.announcement())
    processes = _WithEnvironment(run_context.processes, step_environment(context))
    try:
        tried = await attempts.preflight(run, workspace, processes, context.say)
        result = await attempts.make(run, workspace, processes, resumed=True, tried=tried)
    except PreflightError as failure:
        raise RefusedError(str(failure), failure.kind) from failure
    except SamplingError as failure:
        return ended(failure.result, _output(failure.result, asked), _given(options), failure)
    if result.reason is Reason.CAP and not result.success:
        refuse_spent(context, reserve)
    outcome = ended(result, _output(result, asked), _given(options))
    if result.success:
        facts = {"judged": outcome.output["commit"], "commit": outcome.output["whole"]}
        number = outcome.output["winner"]
        work = Work(run.root.name, "passed", facts, title_of(options.task), number, context.path)
        await land_result(context, outcome, work, f"attempt {number} passed", with_tests=context.step.with_tests)
    return outcome


def _given(options: AttemptOptions) -> dict[str, Any]:
    """Input that a step was given, for people."""
    return {"task": options.task, "agent": options.agent, "checks": list(options.checks), "score": options.score}


def _agent(context: NodeContext, options: AttemptOptions) -> tuple[Entry, dict[str, float]]:
    """The agent, and what one call of it may use of the budgets.

    Raises:
        RefusedError: there is none of that name, or what it uses cannot be known.
    """
    run_context = context.run_context
    try:
        entry = find_entry(options.agent, run_context.settings, options.endpoint)
        asked = AgentRequest(options.task, model=options.model)
        check_request(entry, asked, run_context.project)
        return entry, {**reservation(entry, run_context), **reserve_for(options, run_context.settings, entry)}
    except BakeoffError as failure:
        raise RefusedError(str(failure), getattr(failure, "kind", "error")) from failure


def _output(result: SamplingResult, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Output for later steps: of the winner, or of the best failure, all there is; of the others how they ended."""
    best = result.winner
    output: dict[str, Any] = {
        "snapshot": asked["snapshot"]["commit"],
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
        "verdicts": verdicts_of(result),
    }
