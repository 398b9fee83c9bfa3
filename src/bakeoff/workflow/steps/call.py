"""`workflow`: another workflow as one step, with inputs, names and outputs of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.engine.errors import BakeoffError
from bakeoff.engine.record import Record, RunStatus, Status
from bakeoff.workflow.definition import Workflow
from bakeoff.workflow.expressions import ExpressionError, compile_template
from bakeoff.workflow.find import require_workflow
from bakeoff.workflow.inputs import resolve_inputs
from bakeoff.workflow.interpreter import Halt, Place
from bakeoff.workflow.scope import Naming, Scope
from bakeoff.workflow.validate import load_workflow, parse_workflow
from bakeoff.workflow.values import as_text, plain

DEEPEST = 16
"""Calls inside calls."""


async def run_call(place: Place) -> Halt | None:
    """Run the workflow that is named; its own failure is this step's, which `continue_on_error` covers.

    Raises:
        BakeoffError: what it is called with cannot be evaluated.
    """
    setting, step = place.setting, place.step
    kept = await place.run.kept(place.path)
    if kept is not None:
        place.add(kept)
        return None
    started = place.started()
    try:
        chosen = await place.run.decide(f"{place.path}#workflow", lambda: _chosen(place))
        workflow = parse_workflow(chosen["text"], chosen["name"], Path(chosen["path"]), step_types=setting.step_types)
        unknown = sorted(set(chosen["inputs"]) - set(workflow.inputs))
        if unknown:
            raise BakeoffError(f"workflow {workflow.id} has no input {', '.join(unknown)}")
        inputs = resolve_inputs(workflow.inputs, chosen["inputs"], Path(setting.project))
    except BakeoffError as failure:
        if isinstance(failure, ExpressionError):
            raise
        return await _failed(place, started, {"workflow": as_text(place.value("workflow"))}, str(failure), None)
    scope = call_scope(place, workflow, inputs)
    inner = replace(
        setting,
        workflow_dir=str(Path(chosen["path"]).parent),
        environment={**setting.environment, **workflow.env},
        defaults=_defaults(workflow, setting.defaults),
        inputs=inputs,
        depth=setting.depth + 1,
    )
    place.scope.follow("workflow", workflow.text)
    halt = await Place(inner, step, place.path, scope, Naming.inside(place.path)).steps(workflow.steps)
    place.scope.follow(scope.chain)
    return await _end(place, started, workflow, scope, halt)


def call_scope(place: Place, workflow: Workflow, inputs: Mapping[str, Any]) -> Scope:
    """Names of the workflow that is called; nothing of the caller's is visible in it."""
    context = {**(place.scope.lookup("context") or {}), "workflow_dir": str(workflow.directory or "")}
    return Scope(None, {"inputs": inputs, "context": context}, chain=place.scope.chain)


def _chosen(place: Place) -> dict[str, Any]:
    """The file called, as it is now: a resumed run goes on with this copy.

    Raises:
        BakeoffError: there is none, it is invalid, or calls are too deep.
    """
    setting = place.setting
    if setting.depth >= DEEPEST:
        raise BakeoffError(f"workflows call one another more than {DEEPEST} deep")
    name = as_text(place.value("workflow"))
    folder = setting.workflow_dir
    caller = Path(folder, "workflow.yml") if folder else None
    path = require_workflow(name, caller, Path(setting.project))
    workflow = load_workflow(path, step_types=setting.step_types)
    inputs = plain(place.values("input")) if place.step.input else {}
    return {"path": str(path), "name": path.name, "text": workflow.text, "inputs": inputs}


def _defaults(workflow: Workflow, outer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "integration": workflow.integration or outer.get("integration"),
        "model": workflow.model or outer.get("model"),
        "options": workflow.options,
    }


async def _end(place: Place, started: float, workflow: Workflow, scope: Scope, halt: Halt | None) -> Halt | None:
    output: dict[str, Any] = {"workflow": workflow.id, "status": halt.status.value if halt else "completed"}
    if halt is None:
        output |= {name: plain(compile_template(value).evaluate(scope)) for name, value in workflow.outputs.items()}
        await place.ended(started, output)
        return None
    if halt.status is RunStatus.FAILED:
        return await _failed(place, started, output, halt.error or "failed", halt)
    return halt


async def _failed(place: Place, started: float, output: dict[str, Any], error: str, halt: Halt | None) -> Halt | None:
    absorbed = place.step.continue_on_error and not (halt and halt.raised)
    record: Record = await place.ended(
        started, {**output, "error": error}, status=Status.FAILED, error=error, kind="workflow", absorbed=absorbed
    )
    if record.absorbed:
        return None
    return replace(halt, error=error) if halt else Halt(RunStatus.FAILED, f"step {place.path}: {error}", place.path)
