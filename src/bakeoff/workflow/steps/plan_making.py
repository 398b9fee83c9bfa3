"""What a step of type `plan` asks for, as a plan: from its file, or split by directories, by an agent or by a model."""

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
from bakeoff.plan.run.asking import TRIES
from bakeoff.plan.run.document import read_file
from bakeoff.plan.run.making import plan_of_hierarchy, plan_of_project
from bakeoff.plan.run.plan import Plan, SubplanConfig
from bakeoff.plan.run.splitting import AGENT, MODEL, Split, Splitting, split_lines
from bakeoff.plan.run.work import agent_of
from bakeoff.process.command import Processes
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.attempt.preflight import Preflight, Tried
from bakeoff.workflow.context import Place
from bakeoff.workflow.steps.agent import reservation
from bakeoff.workflow.steps.holding import RefusedError, amount, count, text, texts
from bakeoff.workflow.steps.in_slot import SLOTS
from bakeoff.workflow.steps.shell import log_prefix, step_environment
from bakeoff.workflow.values import as_text
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.shared import Workspaces
from bakeoff.workspace.workspace import Workspace

_NUMBERS = ("max_parallel", "max_retries", "max_reopened")


Tries = Mapping[str, Tried] | None
"""What checks came to on the snapshot, where they were run there before anybody was paid for splitting."""


async def plan_of(place: Place, places: Workspaces) -> tuple[Plan, Tries]:
    """What a step asks for, evaluated and split.

    Args:
        place: the step.
        places: where an agent that splits looks around.

    Passes on ExpressionError: a field cannot be evaluated.

    Raises:
        RefusedError: a value cannot be used, or who splits is of no help.
        BudgetSpentError: there is a ceiling in the way.
    """
    try:
        if place.step.by in (AGENT, MODEL):
            return await _split(place, places)
        return await in_thread(_plan, place), None
    except BudgetSpentError:
        raise
    except BakeoffError as failure:
        kind = "missing" if isinstance(failure, UnknownModelError) else getattr(failure, "kind", "error")
        raise RefusedError(str(failure), kind) from failure


def _plan(place: Place) -> Plan:
    """The plan of a file, or split by directories. It blocks."""
    step, setting = place.step, place.setting
    if step.file is not None:
        agent, model, checks = text(place, "agent"), text(place, "model"), texts(place, "check")
        plan = read_file(Path(setting.project) / as_text(place.value("file")))
        options = plan.attempt
        given: dict[str, Any] = {"agent": agent or options.agent or setting.defaults.get("integration")}
        given["model"] = model or options.model or setting.defaults.get("model")
        return replace(plan, attempt=replace(options, **given, checks=checks or options.checks))
    attempt, config = _asked(place)
    within = texts(place, "paths")
    return plan_of_project(Path(setting.project), setting.settings, attempt.task, within, attempt, config)


def _asked(place: Place) -> tuple[AttemptOptions, SubplanConfig]:
    """How each subplan is attempted, with the whole goal as its task, and how they are carried out."""
    step, setting = place.step, place.setting
    attempt = AttemptOptions(
        task=as_text(place.value("goal")),
        agent=text(place, "agent") or setting.defaults.get("integration"),
        model=text(place, "model") or setting.defaults.get("model"),
        attempts=count(place, "attempts"),
        repair=count(place, "repair", 0),
        checks=texts(place, "check"),
        base=text(place, "base"),
        may_edit=texts(place, "may_edit"),
        protect=texts(place, "protect"),
        preflight=step.preflight is not False,
        require_red=bool(step.require_red),
    )
    given = {name: getattr(step, name) for name in ("fail_fast", "timeout_per_subplan", "on_conflict")}
    given |= {name: amount(place, name, whole=True) for name in _NUMBERS}
    return attempt, SubplanConfig.of(setting.settings.plan, {**given, "execution_mode": step.mode})


def _who(place: Place, attempt: AttemptOptions) -> Split:
    """Who is to split it.

    Raises:
        RefusedError: no model is named.
    """
    settings, paths = place.setting.settings, texts(place, "paths")
    if place.step.by == AGENT:
        return Split(AGENT, find_entry(attempt.agent, settings).name, paths)
    name = text(place, "splitter") or settings.asked_model
    if name is None:
        raise RefusedError("`by: model` needs to know which: give `splitter`, or set `model` in the settings")
    return Split(MODEL, name, paths)


async def _split(place: Place, places: Workspaces) -> tuple[Plan, Tries]:
    """The plan that an agent or a model proposes, and what the checks came to before it was asked."""
    setting, project = place.setting, Path(place.setting.project)
    attempt, config = _asked(place)
    agent_of(attempt, setting.settings, str(project), 1)  # who is to work afterwards is there, too
    splitting = Splitting.of(_who(place, attempt), attempt, setting.settings, str(project))
    if splitting.entry is not None:
        reserve = {**reservation(splitting.entry, setting), **splitting.reserve}
        splitting = replace(splitting, reserve=reserve)
    question = await in_thread(splitting.split.question, project, setting.settings, attempt.task)

    def say(said: str) -> None:
        setting.warn(f"step {place.path}: {said}")

    @asynccontextmanager
    async def opening() -> AsyncIterator[tuple[Workspace, Processes]]:
        async with places.using(attempt.base) as workspace:
            yield workspace, setting.processes

    setting.announce()
    async with opening() as (workspace, processes):
        how: dict[str, Any] = {
            "prefix": f"{place.path}/",
            "label": f"{os.path.basename(log_prefix(place))}:",
            "lanes": (SLOTS, *setting.lanes),
            "env": step_environment(place),
        }
        before = Preflight.of(attempt, setting.settings, place.run, workspace, processes, say, **how)
        tried = await before.carry_out()
    say(f"at most {TRIES} calls of {splitting.split.name} to split it")
    proposal = await splitting.ask(
        question,
        place.run,
        opening,
        say,
        above=f"{place.path}/",
        label=f"{os.path.basename(log_prefix(place))}:",
        lanes=setting.lanes if splitting.entry is None else (SLOTS, *setting.lanes),
        env=step_environment(place),
    )
    made = plan_of_hierarchy(proposal.hierarchy, attempt.task, attempt, config, question.imports, proposal.named)
    for line in split_lines(made, {**splitting.split.facts, **proposal.used}):
        say(line)
    return made, tried
