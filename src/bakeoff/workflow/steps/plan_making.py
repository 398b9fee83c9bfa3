"""Plan that a step of type `plan` asks for: from its file, or split by directories, by an agent or by a model."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.agent.registry import find_entry
from bakeoff.errors import BakeoffError, BudgetSpentError
from bakeoff.model.registry import UnknownModelError
from bakeoff.plan.run.document import read_file
from bakeoff.plan.run.from_hierarchy import plan_of_hierarchy, plan_of_project
from bakeoff.plan.run.options import SubplanConfig
from bakeoff.plan.run.plan import Plan
from bakeoff.plan.run.split.question import TRIES
from bakeoff.plan.run.split.splitting import AGENT, MODEL, Split, Splitting, split_lines
from bakeoff.plan.run.work import agent_of
from bakeoff.process.command import Processes
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.preflight import Preflight, Tried
from bakeoff.workflow.context import NodeContext
from bakeoff.workflow.steps.agent import reservation
from bakeoff.workflow.steps.in_slot import SLOTS
from bakeoff.workflow.steps.job_step import RefusedError, amount, count, text, texts
from bakeoff.workflow.steps.shell import log_prefix, step_environment
from bakeoff.workflow.values import as_text
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.shared_workspaces import Workspaces
from bakeoff.workspace.workspace import Workspace

_NUMBERS = ("max_parallel", "max_retries", "max_reopened")


Tries = Mapping[str, Tried] | None
"""What checks came to on the snapshot, where they were run there before anybody was paid for splitting."""


async def plan_of(context: NodeContext, places: Workspaces) -> tuple[Plan, Tries]:
    """Plan that a step asks for, evaluated and split.

    Passes on ExpressionError: a field cannot be evaluated.

    Raises:
        RefusedError: a value cannot be used, or who splits is of no help.
        BudgetSpentError: there is a ceiling in the way.
    """
    try:
        if context.step.by in (AGENT, MODEL):
            return await _split(context, places)
        return await in_thread(_plan, context), None
    except BudgetSpentError:
        raise
    except BakeoffError as failure:
        kind = "missing" if isinstance(failure, UnknownModelError) else getattr(failure, "kind", "error")
        raise RefusedError(str(failure), kind) from failure


def _plan(context: NodeContext) -> Plan:
    """The plan of a file, or split by directories. It blocks."""
    step, run_context = context.step, context.run_context
    if step.file is not None:
        agent, model, checks = text(context, "agent"), text(context, "model"), texts(context, "check")
        plan = read_file(Path(run_context.project) / as_text(context.value("file")))
        options = plan.attempt
        given: dict[str, Any] = {"agent": agent or options.agent or run_context.defaults.get("integration")}
        given["model"] = model or options.model or run_context.defaults.get("model")
        return replace(plan, attempt=replace(options, **given, checks=checks or options.checks))
    attempt, config = _asked(context)
    within = texts(context, "paths")
    return plan_of_project(Path(run_context.project), run_context.settings, attempt.task, within, attempt, config)


def _asked(context: NodeContext) -> tuple[AttemptOptions, SubplanConfig]:
    """Options by which each subplan is attempted, with the whole goal as its task, and how they are carried out."""
    step, run_context = context.step, context.run_context
    attempt = AttemptOptions(
        task=as_text(context.value("goal")),
        agent=text(context, "agent") or run_context.defaults.get("integration"),
        model=text(context, "model") or run_context.defaults.get("model"),
        attempts=count(context, "attempts"),
        repair=count(context, "repair", 0),
        checks=texts(context, "check"),
        base=text(context, "base"),
        may_edit=texts(context, "may_edit"),
        protect=texts(context, "protect"),
        preflight=step.preflight is not False,
        require_red=bool(step.require_red),
    )
    given = {name: getattr(step, name) for name in ("fail_fast", "timeout_per_subplan", "on_conflict")}
    given |= {name: amount(context, name, whole=True) for name in _NUMBERS}
    return attempt, SubplanConfig.of(run_context.settings.plan, {**given, "execution_mode": step.mode})


def _who(context: NodeContext, attempt: AttemptOptions) -> Split:
    """Who is to split it.

    Raises:
        RefusedError: no model is named.
    """
    settings, paths = context.run_context.settings, texts(context, "paths")
    if context.step.by == AGENT:
        return Split(AGENT, find_entry(attempt.agent, settings).name, paths)
    name = text(context, "splitter") or settings.asked_model
    if name is None:
        raise RefusedError("`by: model` needs to know which: give `splitter`, or set `model` in the settings")
    return Split(MODEL, name, paths)


async def _split(context: NodeContext, places: Workspaces) -> tuple[Plan, Tries]:
    """The plan that an agent or a model proposes, and what the checks came to before it was asked."""
    run_context, project = context.run_context, Path(context.run_context.project)
    attempt, config = _asked(context)
    agent_of(attempt, run_context.settings, str(project), 1)  # who is to work afterwards is there, too
    splitting = Splitting.of(_who(context, attempt), attempt, run_context.settings, str(project))
    if splitting.entry is not None:
        reserve = {**reservation(splitting.entry, run_context), **splitting.reserve}
        splitting = replace(splitting, reserve=reserve)
    question = await in_thread(splitting.split.question, project, run_context.settings, attempt.task)

    @asynccontextmanager
    async def opening() -> AsyncIterator[tuple[Workspace, Processes]]:
        async with places.using(attempt.base) as workspace:
            yield workspace, run_context.processes

    run_context.announce()
    async with opening() as (workspace, processes):
        how: dict[str, Any] = {
            "prefix": f"{context.path}/",
            "label": f"{os.path.basename(log_prefix(context))}:",
            "lanes": (SLOTS, *run_context.lanes),
            "env": step_environment(context),
        }
        before = Preflight.of(attempt, run_context.settings, context.run, workspace, processes, context.say, **how)
        tried = await before.carry_out()
    context.say(f"at most {TRIES} calls of {splitting.split.name} to split it")
    proposal = await splitting.ask(
        question,
        context.run,
        opening,
        context.say,
        above=f"{context.path}/",
        label=f"{os.path.basename(log_prefix(context))}:",
        lanes=run_context.lanes if splitting.entry is None else (SLOTS, *run_context.lanes),
        env=step_environment(context),
    )
    made = plan_of_hierarchy(proposal.hierarchy, attempt.task, attempt, config, question.imports, proposal.named)
    for line in split_lines(made, {**splitting.split.facts, **proposal.used}):
        context.say(line)
    return made, tried
