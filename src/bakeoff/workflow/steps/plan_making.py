"""What a step of type `plan` asks for, as a plan: from its file, split by directories, or split by a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.engine.durable import DurableRun
from bakeoff.engine.errors import BakeoffError, BudgetSpentError
from bakeoff.engine.events import NodeStarted
from bakeoff.engine.record import Record, Status
from bakeoff.model.registry import UnknownModelError, model_for
from bakeoff.model.retrying import RETRY
from bakeoff.plan.run.asking import TRIES, Proposal
from bakeoff.plan.run.asking_model import Question, ask_model
from bakeoff.plan.run.document import read_file
from bakeoff.plan.run.making import files_of, plan_of_hierarchy, plan_of_project
from bakeoff.plan.run.plan import Plan, SubplanConfig
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.workflow.interpreter import Place
from bakeoff.workflow.steps.holding import RefusedError, amount, count, text, texts
from bakeoff.workflow.values import as_text
from bakeoff.workspace.blocking import in_thread

_NUMBERS = ("max_parallel", "max_retries", "max_reopened")


async def plan_of(place: Place, beginning: int, before: Mapping[str, Any] | None) -> tuple[Plan, dict[str, str] | None]:
    """What a step asks for, evaluated and split; and where a model was asked: `question` and `path` of the node.

    Args:
        place: the step.
        beginning: which of the step's it is, from 1.
        before: what was decided at an earlier one: the same question is not asked again.

    Passes on ExpressionError: a field cannot be evaluated.

    Raises:
        RefusedError: a value cannot be used, or the model is of no help.
        BudgetSpentError: there is a ceiling in the model's way.
    """
    try:
        if place.step.by == "model":
            return await _split_by_model(place, beginning, before)
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
    )
    given = {name: getattr(step, name) for name in ("fail_fast", "timeout_per_subplan", "on_conflict")}
    given |= {name: amount(place, name, whole=True) for name in _NUMBERS}
    return attempt, SubplanConfig.of(setting.settings.plan, {**given, "execution_mode": step.mode})


async def _split_by_model(
    place: Place, beginning: int, before: Mapping[str, Any] | None
) -> tuple[Plan, dict[str, str] | None]:
    """The plan that a model proposes.

    Raises:
        RefusedError: no model is named.
    """
    setting = place.setting
    name = text(place, "splitter") or setting.settings.model
    if name is None:
        raise RefusedError("`by: model` needs to know which: give `splitter`, or set `model` in the settings")
    attempt, config = _asked(place)
    files, imports = await in_thread(files_of, Path(setting.project), setting.settings, texts(place, "paths"))
    question = Question(name, attempt.task, files, imports, setting.settings)
    path = f"{place.path}/split" if beginning == 1 else f"{place.path}/again:{beginning}/split"
    split = None if before is None else before.get("split")
    if split is None or split["question"] != question.id:
        split = {"question": question.id, "path": f"{path}:{question.id}"}
    proposal = await _proposal(place, question, split["path"])
    return plan_of_hierarchy(proposal.hierarchy, attempt.task, attempt, config, imports, proposal.named), split


async def _proposal(place: Place, question: Question, path: str) -> Proposal:
    """What the model says, and a node that says what it took."""
    run, setting = place.run, place.setting
    assert setting.models is not None, "nothing is run here"

    def say(said: str) -> None:
        setting.warn(f"step {place.path}: {said}")

    setting.announce()
    say(f"at most {TRIES} calls of {question.name} to split it")
    began = run.clock.wall()
    run.events.emit(NodeStarted(began, path, "split"))
    make = partial(model_for, question.name, setting.settings, retry=RETRY)
    async with setting.models.using((question.name, False), make) as model:
        found = await ask_model(question, model, DurableRun(run), path=path, lanes=setting.lanes, say=say)
    if await run.kept(path) is None:
        output = {"calls": found.calls, "tokens": found.tokens, "usd": found.usd}
        await run.commit(Record(path, "split", Status.COMPLETED, output, started_at=began, ended_at=run.clock.wall()))
    return found
