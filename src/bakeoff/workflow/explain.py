"""Dry run and explanation of a resume: what a run would do, before it does anything (`--dry-run`, `--explain`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.engine.run import Run
from bakeoff.engine.store import RunStore
from bakeoff.settings import load_settings
from bakeoff.workflow.context import RunContext
from bakeoff.workflow.definition import Workflow
from bakeoff.workflow.explain_walk import Before, Row, Walk
from bakeoff.workflow.scope import Naming, Scope, digest
from bakeoff.workflow.secrets import secrets_of
from bakeoff.workflow.session import WorkflowOptions, input_values, load, resumable, step_types, workflow_setting
from bakeoff.workflow.steps.call import copies


def plan_run(store: RunStore, path: Path, inputs: Mapping[str, Any], run_options: WorkflowOptions) -> list[Row]:
    """Rows for a new run, as far as it can be said before its first step.

    Passes on BakeoffError: the file, the inputs or the settings are wrong.
    """
    settings = load_settings(store.project).at(run_options.endpoint)
    workflow = load(path, store.project, settings, run_options)
    secrets = secrets_of(workflow.text, *copies(workflow, store.project, step_types(settings)).values())
    values = input_values(workflow, inputs, store.project, run_options, secrets)
    run = Run(root=store.runs / "new")
    folder = path.absolute().parent
    return _plan(workflow, workflow_setting(run, workflow, settings, store.project, folder, values, secrets))


def plan_resume(
    store: RunStore, run_id: str, inputs: Mapping[str, Any], run_options: WorkflowOptions, edit: Path | None
) -> list[Row]:
    """Why each node of a run would be reused or run, if it were resumed so.

    Passes on BakeoffError: the run cannot be resumed, or the inputs or the edited file are wrong.
    """
    found = resumable(store, run_id, inputs, run_options, edit)
    before = None
    if edit is not None:
        before = Before(dict(found.history.records), set(found.history.open))
        found.history.edited()
    run = Run(root=found.folder.root, history=found.history)
    folder = found.source.parent
    run_context = workflow_setting(
        run, found.workflow, found.settings, store.project, folder, found.inputs, found.secrets
    )
    return _plan(found.workflow, run_context, before)


def _plan(workflow: Workflow, run_context: RunContext, before: Before | None = None) -> list[Row]:
    context = {"run_id": run_context.run.root.name, "workflow_dir": run_context.workflow_dir}
    scope = Scope(None, {"inputs": run_context.inputs, "context": context}, chain=digest("bakeoff"))
    plan = Walk(before)
    plan.steps(run_context, workflow.steps, scope, Naming(), frozenset())
    return plan.rows
