"""`plan`: a goal is split into subplans, agents work on them side by side, what they make is merged and verified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field

from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.jobs.landing import Work, title_of
from bakeoff.plan.run.findings import PlanFindings
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.view import step_name
from bakeoff.plan.run.work import PlanWork
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings.plan import Mode, OnConflict, PlanSettings
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.models import (
    Apply,
    Commands,
    Count,
    Names,
    Positive,
    StepModel,
    Text,
    Whole,
    apply_field,
    option_field,
)
from bakeoff.workflow.scope import digest
from bakeoff.workflow.steps.agent import reservation
from bakeoff.workflow.steps.in_slot import SLOTS, workspaces
from bakeoff.workflow.steps.job_step import Beginning, JobStep, land_result, refuse_spent, snapshot_json
from bakeoff.workflow.steps.plan_making import plan_of
from bakeoff.workflow.steps.shell import step_environment
from bakeoff.workspace.repository.repository import ref_name

_attempt = partial(option_field, AttemptOptions)
_config = partial(option_field, PlanSettings, default=None)


class PlanModel(StepModel):
    """Splits a goal into subplans, has agents work on them side by side, and merges and verifies what they make."""

    agent_key: ClassVar[str | None] = "agent"
    model_keys: ClassVar[tuple[str, ...]] = ("splitter",)

    goal: Text | None = Field(None, description="What is to be done.")
    by: Literal["directories", "agent", "model"] = Field(
        "directories", description="Who splits it: the project's directories and imports, the agent, or a model."
    )
    splitter: Text | None = Field(
        None, description="With `by: model` which one, named as for `sample`; the settings' own if left out."
    )
    paths: Names | None = Field(None, description="Files and folders that it is about; all if left out.")
    file: Text | None = Field(None, description="A plan that is written in a file, instead of a goal.")
    agent: Text | None = _attempt("agent")
    model: Text | None = _attempt("model")
    check: Commands | None = _attempt("checks")
    preflight: bool | None = _attempt("preflight", default=None)
    require_red: bool | None = _attempt("require_red", default=None)
    attempts: Count = _attempt("attempts")
    repair: Whole = _attempt("repair", default=1)
    base: Text | None = _attempt("base")
    may_edit: Names | None = _attempt("may_edit")
    protect: Names | None = _attempt("protect")
    mode: Mode | None = _config("execution_mode")
    max_parallel: Count = _config("max_parallel")
    fail_fast: bool | None = _config("fail_fast")
    max_retries: Whole = _config("max_retries")
    timeout_per_subplan: Positive | None = _config("timeout_per_subplan")
    on_conflict: OnConflict | None = _config("on_conflict")
    max_reopened: Whole = _config("max_reopened")
    apply: Apply = apply_field()

    @property
    def most_calls(self) -> int | None:
        """Calls of the agent at most: None, for only the split says how many subplans there are."""
        return None


class PlanStep(JobStep):
    """The step type.

    It has failed where not all subplans landed; its output names those that did, and their commit.
    """

    name = "plan"
    model = PlanModel
    decision = staticmethod(step_name)

    def check(self, raw: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
        """Check of a step besides its fields: what is wrong with it."""
        if (raw.get("goal") is None) == (raw.get("file") is None):
            yield None, "give either `goal` or `file`"
        if raw.get("goal") is not None and raw.get("check") in (None, "", []):
            yield None, "there is nothing to judge by: give `check`, as in `check: pytest -q`"
        if raw.get("file") is not None:
            for name in sorted(_OF_GOALS & raw.keys()):
                yield name, f"`{name}` goes with `goal`; with `file` it stands in the file"
        if raw.get("splitter") is not None and raw.get("by") != "model":
            yield "splitter", "`splitter` goes with `by: model`"

    async def carry_out(self, begun: Beginning) -> Outcome | Record:
        """Split the goal, where that was not decided before, and carry the plan out.

        Passes on ExpressionError: a field cannot be evaluated. BudgetSpentError: the run's budget is spent.
        """
        context, decided = begun.context, begun.decided
        places = await workspaces(context.run_context)
        plan, tried = await plan_of(context, places) if decided is None else (Plan.from_json(decided["plan"]), None)
        async with places.using(plan.attempt.base, begun.snapshot) as workspace:
            tree = workspace.snapshot.tree
            asked = {"plan": plan.to_json(), "snapshot": snapshot_json(workspace)}
            request = await begun.decide(digest("plan", plan.to_json(), tree), asked)
            adopted = await begun.adopted(context.key(request["plan"], context.step.apply, {"tree": tree}))
            if adopted is not None:
                return adopted
            work = _work(begun, plan, request["prefix"])
            context.run_context.announce()
            context.say(work.announcement())
            processes = context.run_context.processes
            found = await work.carry_out(context.run, workspace, places, processes, context.say, tried)
            if found.unpaid is not None:
                refuse_spent(context, work.reserve)
            outcome = _outcome(plan, found)
            if found.result is not None:
                outcome.facts = {"result": ref_name(context.run.root.name, f"{work.label}result")}
            if outcome.status is Status.COMPLETED:
                await _land(context, plan, outcome)
            return outcome


_CONFIG = ("fail_fast", "max_retries", "timeout_per_subplan", "on_conflict", "max_reopened")
_OF_GOALS = {
    "by",
    "paths",
    "attempts",
    "repair",
    "base",
    "may_edit",
    "protect",
    "mode",
    "max_parallel",
    "preflight",
    "require_red",
    *_CONFIG,
}


def _work(begun: Beginning, plan: Plan, prefix: str) -> PlanWork:
    context, run_context = begun.context, begun.context.run_context
    work = PlanWork.of(plan, run_context.settings, run_context.project)
    return replace(
        work,
        reserve={**reservation(work.entry, run_context), **work.reserve},
        prefix=f"{prefix}/",
        label=begun.label(prefix),
        lanes=(SLOTS, *run_context.lanes),
        env=step_environment(context),
    )


def _outcome(plan: Plan, found: PlanFindings) -> Outcome:
    """Outcome of the plan: how it ended, and what later steps may use."""
    left = [name for name in found.wanted if not found.states[name].landed]
    output = {
        "snapshot": found.base,
        "commit": found.result,
        "result": None if found.result is None else {"commit": found.result},
        "tip": found.tip,
        "landed": found.landed,
        "left": left,
        "subplans": [{"name": name, **state.to_json()} for name, state in found.states.items()],
        "conflicts": [one.to_json() for findings in found.rounds for one in findings.conflicts],
        "culprits": [one.to_json() for findings in found.rounds for one in findings.culprits],
        "rounds": len(found.rounds),
    }
    given = {"goal": plan.goal, "subplans": len(plan.subplans), "checks": list(plan.attempt.checks)}
    if not left:
        return Outcome(output=output, input=given)
    why = "; ".join(f"{name}: {found.states[name].why}" for name in left[:3])
    error = f"{len(found.landed)} of {len(found.wanted)} subplans landed; {why}"
    return Outcome(Status.FAILED, output, error, "in-part" if found.landed else "no-winner", given)


async def _land(context: NodeContext, plan: Plan, outcome: Outcome) -> None:
    """Do what `apply` says with the result. Passes on ExpressionError: as `land_result`."""
    commit = outcome.output["commit"]
    if commit is None:
        return
    facts = {"commit": commit, "judged": commit}
    work = Work(context.run.root.name, "passed", facts, title_of(plan.goal), None, context.path)
    await land_result(context, outcome, work, "all subplans landed")
