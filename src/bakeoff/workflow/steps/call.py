"""`workflow`: another workflow as one step, with inputs, names and outputs of its own."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.engine.record import Record, RunStatus, Status
from bakeoff.errors import BakeoffError
from bakeoff.workflow.availability import agents_of
from bakeoff.workflow.calls import MAX_CALLS, finder, has_budget
from bakeoff.workflow.context import Halt, NodeContext
from bakeoff.workflow.cost import FindCopy
from bakeoff.workflow.definition import Workflow, all_steps
from bakeoff.workflow.expressions import ExpressionError, compile_template
from bakeoff.workflow.find import candidates, require_workflow
from bakeoff.workflow.inputs import resolve_inputs
from bakeoff.workflow.scope import Naming, Scope
from bakeoff.workflow.step_type import StepTypes
from bakeoff.workflow.validate import load_workflow, reread_workflow
from bakeoff.workflow.values import as_text, plain


async def run_call(context: NodeContext) -> Halt | None:
    """Run the workflow that is named; its own failure is this step's, which `continue_on_error` covers.

    Raises:
        BakeoffError: what it is called with cannot be evaluated.
    """
    run_context, step = context.run_context, context.step
    kept = await context.run.kept(context.path)
    if kept is not None:
        context.scope.chain = kept.key
        context.add(kept)
        return None
    started = context.started()
    try:
        chosen = await context.run.decide(f"{context.path}#workflow", lambda: choose(context))
        workflow = reread_workflow(chosen["text"], chosen["name"], Path(chosen["path"]), run_context.step_types)
        unknown = sorted(set(chosen["inputs"]) - set(workflow.inputs))
        if unknown:
            raise BakeoffError(f"workflow {workflow.id} has no input {', '.join(unknown)}")
        inputs = resolve_inputs(workflow.inputs, chosen["inputs"], Path(run_context.project))
    except BakeoffError as failure:
        if isinstance(failure, ExpressionError):
            raise
        return await _failed(context, started, {"workflow": as_text(context.value("workflow"))}, str(failure), None)
    scope = call_scope(context, workflow, inputs)
    environment = {name: compile_template(value).evaluate(scope) for name, value in workflow.env.items()}
    inner = replace(
        run_context,
        workflow_dir=str(Path(chosen["path"]).parent),
        environment={**run_context.environment, **environment},
        defaults=_defaults(workflow, run_context.defaults),
        inputs=inputs,
        depth=run_context.depth + 1,
    )
    context.scope.follow("workflow", workflow.text)
    halt = await NodeContext(inner, step, context.path, scope, Naming.inside(context.path)).steps(workflow.steps)
    context.scope.follow(scope.chain)
    return await _end(context, started, workflow, scope, halt)


def call_scope(context: NodeContext, workflow: Workflow, inputs: Mapping[str, Any]) -> Scope:
    """Names of the workflow that is called; nothing of the caller's is visible in it."""
    shown = {**(context.scope.lookup("context") or {}), "workflow_dir": str(workflow.directory or "")}
    return Scope(None, {"inputs": inputs, "context": shown}, chain=context.scope.chain)


def choose(context: NodeContext) -> dict[str, Any]:
    """The file called: the run's copy of it from its beginning, else, for a name made up on the way, as it is now.

    Raises:
        BakeoffError: there is none, it is invalid, or calls are too deep.
    """
    run_context = context.run_context
    if run_context.depth >= MAX_CALLS:
        raise BakeoffError(f"workflows call one another more than {MAX_CALLS} deep")
    folder, project = run_context.workflow_dir, Path(run_context.project)
    name, caller = as_text(context.value("workflow")), Path(folder, "caller") if folder else None
    inputs = plain(context.values("input")) if context.step.input else {}
    copy = _copy(context.run.history.called, name, caller, project)
    if copy is not None:
        return {"path": copy[0], "name": Path(copy[0]).name, "text": copy[1], "inputs": inputs}
    found = require_workflow(name, caller, project)
    workflow = load_workflow(
        found,
        step_types=run_context.step_types,
        allow_unquoted=run_context.allow_unquoted,
        find_workflow=finder(project),
        agents=agents_of(run_context.settings),
    )
    _refuse(workflow, found.name, run_context.secrets)
    return {"path": _absolute(found), "name": found.name, "text": workflow.text, "inputs": inputs}


def _refuse(workflow: Workflow, name: str, secrets: Collection[str]) -> None:
    """Turn down a file that a name made up on the way calls, where it asks for what must be known from the beginning.

    Raises:
        BakeoffError: it has a budget, or names secrets that the run does not mask.
    """
    if has_budget(workflow.data):
        advice = "which has no effect where it is called; put it into the file that is run"
        raise BakeoffError(f"{name} has a `budget`, {advice}")
    unknown = [secret for secret in workflow.secrets if secret not in secrets]
    if unknown:
        raise BakeoffError(
            f"{name} names the secret {', '.join(unknown)}, and which file this step calls was not known when the run "
            "began, so it is not masked; put it under `secrets:` of the file that is run, too"
        )


def _copy(called: Mapping[str, str], name: str, caller: Path | None, project: Path) -> tuple[str, str] | None:
    """The path and text of a run's own copy of the file that a name means."""
    for candidate in candidates(name, caller, project):
        path = _absolute(candidate)
        if (text := called.get(path)) is not None:
            return path, text
    return None


def find_copy(called: Mapping[str, str], project: Path, step_types: StepTypes) -> FindCopy:
    """Finds called workflows among a run's own copies."""

    def find(name: str, caller: Path | None) -> Workflow | None:
        copy = _copy(called, name, caller, project)
        return None if copy is None else reread_workflow(copy[1], Path(copy[0]).name, Path(copy[0]), step_types)

    return find


def copies(workflow: Workflow, project: Path, step_types: StepTypes) -> dict[str, str]:
    """The text of every workflow that can be seen to be called, by path, as the files are now."""
    found: dict[str, str] = {}
    left = [workflow]
    while left:
        caller = left.pop()
        for step in all_steps(caller.steps):
            if step.type != "workflow" or "{{" in step.workflow:
                continue
            path = require_workflow(step.workflow, caller.path, project)
            if _absolute(path) not in found:
                text = found[_absolute(path)] = path.read_text("utf-8")
                left.append(reread_workflow(text, path.name, Path(_absolute(path)), step_types))
    return found


def _absolute(path: Path) -> str:
    return os.path.realpath(path)


def _defaults(workflow: Workflow, outer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "integration": workflow.integration or outer.get("integration"),
        "model": workflow.model or outer.get("model"),
        "options": workflow.options,
    }


async def _end(
    context: NodeContext, started: float, workflow: Workflow, scope: Scope, halt: Halt | None
) -> Halt | None:
    output: dict[str, Any] = {"workflow": workflow.id, "status": halt.status.value if halt else "completed"}
    if halt is None:
        output |= {name: plain(compile_template(value).evaluate(scope)) for name, value in workflow.outputs.items()}
        await context.ended(started, output, key=context.scope.chain)
        return None
    if halt.status is RunStatus.FAILED:
        return await _failed(context, started, output, halt.error or "failed", halt)
    return halt


async def _failed(
    context: NodeContext, started: float, output: dict[str, Any], error: str, halt: Halt | None
) -> Halt | None:
    continued = context.step.continue_on_error and not (halt and halt.raised)
    record: Record = await context.ended(
        started,
        {**output, "error": error},
        status=Status.FAILED,
        error=error,
        kind="workflow",
        continued=continued,
        key=context.scope.chain,
    )
    if record.continued:
        return None
    return replace(halt, error=error) if halt else Halt(RunStatus.FAILED, f"step {context.path}: {error}", context.path)
