"""The workflow job: starts a run of a file, takes one up again, edits one under way."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.history import History
from bakeoff.engine.lanes import LEAVES
from bakeoff.engine.mask import MASK, SHORTEST, Masker
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending
from bakeoff.engine.sharing import Shared, sharing
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.jobs.session import Prepare, RunOptions, SessionOptions, in_session
from bakeoff.process.command import Command, Finished
from bakeoff.process.spawner import Spawner
from bakeoff.settings import Settings, load_settings
from bakeoff.system.machine import cpu_allowance, memory_available
from bakeoff.version import __version__
from bakeoff.workflow.availability import agents_of, check_logins, missing_models, unknown_by_inputs
from bakeoff.workflow.calls import finder
from bakeoff.workflow.context import WORKSPACES, Halt, NodeContext, RunContext
from bakeoff.workflow.cost import announcement
from bakeoff.workflow.definition import Workflow
from bakeoff.workflow.expressions import ExpressionError, compile_template
from bakeoff.workflow.inputs import mistyped, resolve_inputs, undeclared
from bakeoff.workflow.interpreter import run_step
from bakeoff.workflow.scope import Naming, Scope, digest
from bakeoff.workflow.secrets import called_texts, present, secrets_of
from bakeoff.workflow.step_type import step_types as step_types
from bakeoff.workflow.steps.call import copies, find_copy
from bakeoff.workflow.validate import load_workflow, reread_workflow
from bakeoff.workflow.values import plain

JOB_NAME = "workflow"

AGENT_MEMORY = 1 << 30
"""Bytes that one coding agent is reckoned to need; the `agents` lane shrinks where there is less."""

AGENTS = 4

MODELS = 16
"""Models that nobody asks at the moment and that are kept ready."""


@dataclass(slots=True)
class WorkflowOptions(RunOptions):
    """Options of carrying a workflow out, besides what the file says.

    Attributes:
        endpoint: the one that agents and models are at; None for the setting. A run keeps it.
        strict: unknown keys and other warnings are errors.
        allow_unquoted: let text from agents into shell commands as it is.
    """

    endpoint: str | None = None
    strict: bool = False
    allow_unquoted: bool = False


def load(path: Path, project: Path, settings: Settings, run_options: WorkflowOptions) -> Workflow:
    """Read and validate a workflow file; warnings are events.

    Passes on InvalidWorkflowError: it has errors; every problem is listed.
    """
    workflow = load_workflow(
        path,
        strict=run_options.strict,
        allow_unquoted=run_options.allow_unquoted,
        step_types=step_types(settings),
        find_workflow=finder(project),
        lanes=settings.lanes,
        agents=agents_of(settings),
    )
    for text in (*settings.warnings, *(problem.render(path.name) for problem in workflow.warnings)):
        run_options.warn(text)
    return workflow


def input_values(
    workflow: Workflow,
    given: Mapping[str, Any],
    project: Path,
    run_options: WorkflowOptions,
    secrets: Iterable[str],
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The value of every input, from what is given now or was given earlier; names that nobody declares are events.

    Raises:
        BakeoffError: values are missing or wrong, a name is mistyped, or under `strict` not declared.
    """
    unknown = undeclared(workflow.inputs, given)
    if unknown and (run_options.strict or mistyped(workflow.inputs, given)):
        raise BakeoffError("\n".join(unknown))
    values = resolve_inputs(workflow.inputs, {**(earlier or {}), **given}, project, Masker(present(secrets)))
    for text in unknown:
        run_options.warn(text)
    return values


def _warn_of_missing(
    workflow: Workflow,
    values: Mapping[str, Any],
    settings: Settings,
    run_options: WorkflowOptions,
    secrets: Iterable[str],
) -> None:
    masker = Masker(present(secrets))
    agents = unknown_by_inputs(workflow, values, agents_of(settings), masker)
    for text in (*agents, *missing_models(workflow, values, settings, masker)):
        run_options.warn(text)


async def start(
    store: RunStore, path: Path, inputs: Mapping[str, Any], run_id: str | None, run_options: WorkflowOptions
) -> tuple[RunFolder, Ending]:
    """Validate the file and its inputs, then run it as a new run. Nothing is left behind when either is wrong.

    Passes on BakeoffError: the file, the inputs, the settings or the run id are wrong.
    """
    project = store.project
    settings = load_settings(project).at(run_options.endpoint)
    workflow = load(path, project, settings, run_options)
    called = copies(workflow, project, step_types(settings))
    secrets = secrets_of(workflow.text, *called.values())
    values = input_values(workflow, inputs, project, run_options, secrets)
    _warn_of_missing(workflow, values, settings, run_options, secrets)
    check_logins(workflow, values, settings, str(project))
    folder = store.create(run_id or os.environ.get("SPECKIT_WORKFLOW_RUN_ID", "").strip() or store.new_id())
    folder.definition.mkdir()
    folder.logs.mkdir()
    _write(folder.definition / "workflow.yml", workflow.text)
    meta = {
        "run_id": folder.id,
        "job": JOB_NAME,
        "workflow_id": workflow.id,
        "name": workflow.name,
        "source": str(path.absolute()),
        "project": str(project),
        "inputs": values,
        "allow_unquoted": run_options.allow_unquoted,
        "endpoint": run_options.endpoint,
        "max_parallel": run_options.max_parallel,
        "created_at": SystemClock().wall(),
        "bakeoff": __version__,
    }
    job = _Job(folder, workflow, settings, run_options, path.absolute().parent, values, project, secrets)

    async def prepare(run: Run) -> None:
        await run.keep_called(called)

    return folder, await job.run(meta=meta, prepare=prepare)


@dataclass(frozen=True, slots=True)
class Resumable:
    """A run that can be taken up again, and what it would go on with.

    Attributes:
        secrets: the variables that its files name as secrets.
        called: copies of what an edited file calls; None where nothing was edited.
    """

    folder: RunFolder
    history: History
    settings: Settings
    workflow: Workflow
    inputs: dict[str, Any]
    source: Path
    secrets: tuple[str, ...]
    called: dict[str, str] | None


def resumable(
    store: RunStore, run_id: str, inputs: Mapping[str, Any], run_options: WorkflowOptions, edit: Path | None
) -> Resumable:
    """Everything that has to be right before a run is taken up again.

    Raises:
        BakeoffError: the run cannot be resumed, or the inputs or the edited file are wrong.
    """
    folder = store.open(run_id)
    history = folder.history()
    settings = load_settings(store.project).at(history.meta.get("endpoint"))
    if history.meta.get("job", JOB_NAME) != JOB_NAME:
        raise BakeoffError(f"run {run_id} is not a workflow's; the program that made it resumes it")
    if not history.meta and not history.damaged:
        raise BakeoffError(f"run {run_id} was stopped before anything was done; `bakeoff clean {run_id}` removes it")
    if not history.meta:
        raise BakeoffError(f"run {run_id}: the journal entry that says what it is cannot be read; it cannot be resumed")
    status, _ = folder.status_and_error(history)
    refuse_resume(folder, status, edited=edit is not None)
    source = Path(history.meta["source"])
    if edit is None:
        text = (folder.definition / "workflow.yml").read_text("utf-8")
        workflow = reread_workflow(text, source.name, source, step_types(settings))
        called = None
        secrets = secrets_of(text, *called_texts(history))
    else:
        workflow = load(edit, store.project, settings, run_options)
        called = copies(workflow, store.project, step_types(settings))
        secrets = secrets_of(workflow.text, *called.values())
    hidden = [
        name
        for name, value in history.inputs.items()
        if secrets and isinstance(value, str) and MASK in value and name not in inputs
    ]
    if hidden:
        again = " ".join(f"-i {name}=VALUE" for name in hidden)
        raise BakeoffError(f"run {run_id} was given a secret as input, which is not kept: give it again with {again}")
    values = input_values(workflow, inputs, store.project, run_options, secrets, history.inputs)
    return Resumable(folder, history, settings, workflow, values, source, secrets, called)


async def resume(
    store: RunStore, run_id: str, inputs: Mapping[str, Any], run_options: WorkflowOptions, *, edit: Path | None = None
) -> tuple[RunFolder, Ending]:
    """Run what has not ended yet, from the run's own copy of its file, or from `edit` in its place.

    Passes on BakeoffError: the run cannot be resumed, or the inputs or the edited file are wrong.
    """
    found = resumable(store, run_id, inputs, run_options, edit)
    folder, workflow, run_options = found.folder, found.workflow, run_options.resuming(found.history)
    if inputs or edit is not None:
        _warn_of_missing(workflow, found.inputs, found.settings, run_options, found.secrets)
    job = _Job(
        folder, workflow, found.settings, run_options, found.source.parent, found.inputs, store.project, found.secrets
    )

    async def prepare(run: Run) -> None:
        if found.called is not None:
            _write(folder.definition / "workflow.yml", workflow.text)
            await run.start_over()
            await run.keep_called(found.called)
        if inputs or edit is not None:
            await run.note("inputs", found.inputs).committed()

    return folder, await job.run(prepare=prepare)


def refuse_resume(folder: RunFolder, status: RunStatus, *, edited: bool = False) -> None:
    """Say no to a run that is live, was ended by a person, or has nothing left to do; an edit may give it more to do.

    Raises:
        BakeoffError: it is.
    """
    if status is RunStatus.ABORTED:
        raise BakeoffError(f"run {folder.id} is aborted; it cannot be resumed: start a new one with `bakeoff run`")
    if status is RunStatus.COMPLETED and not edited:
        raise BakeoffError(
            f"run {folder.id} is completed; it cannot be resumed as it is: to run what a changed file adds, "
            f"`bakeoff resume {folder.id} --edit FILE`"
        )
    if folder.alive():
        folder.lock().release()  # says by whom it is run


@dataclass(slots=True)
class _Job:
    """One session of a workflow run."""

    folder: RunFolder
    workflow: Workflow
    settings: Settings
    run_options: WorkflowOptions
    workflow_dir: Path
    inputs: dict[str, Any]
    project: Path
    secrets: tuple[str, ...]

    async def run(self, meta: Mapping[str, Any] | None = None, prepare: Prepare | None = None) -> Ending:
        budget = self.workflow.budget
        ceilings = {kind: getattr(budget, kind) for kind in ("usd", "tokens", "calls")}
        folder = str(self.workflow_dir)

        async def interpret(run: Run, _: RunFolder, spawner: Spawner) -> Ending:
            async with sharing(idle=1) as places, sharing(idle=MODELS) as models:
                return await self.interpret(run, spawner, places, models)

        return await in_session(
            self.folder,
            interpret,
            self.run_options,
            SessionOptions(
                self.lanes(),
                {kind: ceiling for kind, ceiling in ceilings.items() if ceiling is not None},
                budget.seconds,
                self.secret_values(),
                {"BAKEOFF_WORKFLOW_DIR": folder, "SPECKIT_WORKFLOW_DIR": folder},
            ),
            meta=meta,
            prepare=prepare,
        )

    def secret_values(self) -> dict[str, str]:
        """The secrets' values; one that cannot be masked is said."""
        values = present(self.secrets)
        for name, value in values.items():
            if 0 < len(value.encode()) < SHORTEST:
                text = f"secret {name} has less than {SHORTEST} bytes and is not masked"
                self.run_options.warn(text)
        return values

    def lanes(self) -> dict[str, int]:
        """The capacities in force; an `agents` lane that memory makes smaller is said."""
        agents, leaves = AGENTS, self.run_options.max_parallel or self.settings.max_parallel
        memory = memory_available()
        if memory is not None and memory < AGENTS * AGENT_MEMORY:
            agents = max(1, memory // AGENT_MEMORY)
            text = f"lane agents is lowered to {agents}: {memory >> 20} MiB of memory are available"
            self.run_options.warn(text)
        return {
            "agents": agents,
            "tests": cpu_allowance(),
            "bench": 1,
            "slots": leaves,
            "apply": 1,
            **self.settings.lanes,
            **self.workflow.lanes,
            LEAVES: leaves,
        }

    async def interpret(self, run: Run, spawner: Spawner, places: Shared[Any], models: Shared[Any]) -> Ending:
        workflow = self.workflow
        folder = self.workflow_dir
        run_context = workflow_setting(run, workflow, self.settings, self.project, folder, self.inputs, self.secrets)
        run_context.processes, run_context.asker = spawner, self.run_options.asker
        run_context.places, run_context.models = places, models
        if WORKSPACES in run.history.decisions:  # a resumed run may need none any more
            from bakeoff.workspace.shared_workspaces import sweep_dead

            await sweep_dead(self.project)
        run_context.allow_unquoted = self.run_options.allow_unquoted or bool(run.history.meta.get("allow_unquoted"))
        find = find_copy(run.history.called, self.project, run_context.step_types)
        run_context.announcement = announcement(workflow, find, run.budget.ceilings, run.history.usage.get("calls", 0))
        if not run.history.spans:  # a resumed run may have no call left, and says it before the first one
            run_context.announce()
        while True:
            ending = await self.walk(run_context)
            gate = ending.facts.get("gate") if ending.status is RunStatus.PAUSED else None
            if gate is None or run.answers.get(gate["step_id"]) is None:
                return ending
            # Answered in the moment in which it paused: what has ended is on record, so going on is walking again.

    async def walk(self, run_context: RunContext) -> Ending:
        """The steps, from the first one on; those that have ended are only looked up."""
        workflow = self.workflow
        context = {"run_id": self.folder.id, "workflow_dir": str(self.workflow_dir)}
        scope = Scope(None, {"inputs": self.inputs, "context": context}, chain=digest("bakeoff"))
        run_context.environment = {
            name: compile_template(value).evaluate(scope) for name, value in workflow.env.items()
        }
        facts: dict[str, Any] = {"current_step_id": None, "current_step_index": 0}
        for index, step in enumerate(workflow.steps):
            facts |= {"current_step_id": step.id, "current_step_index": index}
            halt = await run_step(NodeContext(run_context, step, step.id, scope, Naming()))
            if halt is not None:
                return _halted(halt, facts)
        try:
            outputs = {name: plain(compile_template(value).evaluate(scope)) for name, value in workflow.outputs.items()}
        except ExpressionError as failure:
            return Ending(RunStatus.FAILED, f"outputs of the workflow: {failure}", facts)
        if outputs:
            facts["outputs"] = outputs
        return Ending(RunStatus.COMPLETED, None, facts)


def workflow_setting(
    run: Run,
    workflow: Workflow,
    settings: Settings,
    project: Path,
    folder: Path,
    inputs: dict[str, Any],
    secrets: Iterable[str],
) -> RunContext:
    """Run context of a workflow; processes and asker are for the session to add."""
    return RunContext(
        run=run,
        processes=NoProcesses(),
        settings=settings,
        step_types=step_types(settings),
        run_step=run_step,
        project=str(project),
        workflow_dir=str(folder),
        defaults={"integration": workflow.integration, "model": workflow.model, "options": workflow.options},
        inputs=inputs,
        secrets=frozenset(secrets),
    )


class NoProcesses:
    """Stands where nothing may be run."""

    async def run(self, command: Command) -> Finished:
        """Refuse.

        Raises:
            AssertionError: always.
        """
        raise AssertionError(f"nothing is run while a run is only explained: {command.argv}")


def _halted(halt: Halt, facts: dict[str, Any]) -> Ending:
    facts["current_step_id"] = halt.path
    if halt.gate is not None:
        facts["gate"] = halt.gate
    return Ending(halt.status, halt.error, facts)


def _write(path: Path, text: str) -> None:
    """Put a file in its place whole, and on disk before anything relies on it."""
    draft = path.with_suffix(".new")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
