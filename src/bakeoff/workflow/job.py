"""Workflow job: runs of workflow files, as all commands see them; also what is right for runs that programs made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bakeoff.errors import BakeoffError
from bakeoff.jobs.job import Job, JobSession, OpenRun, ResumeRequest, Schema
from bakeoff.report.outline import called
from bakeoff.report.schema_parts import ANY, GATE, RUN_STATUS, TEXT, WHOLE, list_of, map_of, object_of, or_null

if TYPE_CHECKING:
    from bakeoff.engine.history import History
    from bakeoff.engine.record import RunStatus
    from bakeoff.jobs.landing import Work
    from bakeoff.workflow.explain_walk import Row


class WorkflowJob(Job):
    """See `Job`. A result belongs to a step: the step's, an attempt's of it, or a subplan's."""

    name = "workflow"
    takes_files = True

    def resume(self, asked: ResumeRequest) -> JobSession:
        """See `Job`; also by another file."""
        from bakeoff.workflow.session import WorkflowOptions, resume

        options = WorkflowOptions(max_parallel=asked.max_parallel, adopt=True)
        session = partial(resume, asked.runs, asked.run, asked.inputs, options, edit=asked.edit)
        return JobSession(asked.runs, options, session)

    def explain(self, asked: ResumeRequest) -> Sequence[Row]:
        """See `Job`."""
        from bakeoff.workflow.explain import plan_resume
        from bakeoff.workflow.session import WorkflowOptions

        options = WorkflowOptions(max_parallel=asked.max_parallel, adopt=True)
        return plan_resume(asked.runs, asked.run, asked.inputs, options, asked.edit)

    def schemas(self) -> dict[str, Schema]:
        """See `Job`."""
        return {"run": _session_schema(), "plan": _explained_schema()}

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """See `Job`."""
        return _of_step(run.folder.id, run.history, run.status, where)


def _of_step(run: str, history: History, status: RunStatus, where: tuple[str, ...]) -> Work:
    """Work that a step made.

    Raises:
        BakeoffError: nothing, or there is no such step.
    """
    from bakeoff.jobs.landing import Work
    from bakeoff.sampling.attempt.landing import attempt_number, chosen, work_of
    from bakeoff.sampling.attempt.view import step_view

    if not where:
        where = (_only(run, history),)
    step, attempt = called((*_steps(history), *_plans(history)), where[0]), where[1:]
    name = f"step {step} of run {run}"
    found = step_view(history, status, step)
    if found is not None:
        return work_of(run, found, chosen(found, name, attempt_number(attempt)), step)
    if attempt and step in _plans(history):
        from bakeoff.plan.run.landing import work_of as work_of_plan
        from bakeoff.plan.run.view import step_view as plan_view

        plan = plan_view(history, status, step)
        if plan is not None and len(attempt) == 1:
            return work_of_plan(run, plan, attempt[0], step)
        raise BakeoffError(f"{name} is a plan: name one of its subplans behind it, or nothing for all that landed")
    if attempt:
        raise BakeoffError(f"{name} has made no attempts")
    record = history.records.get(step)
    result = record.output.get("result") if record is not None and record.facts else None
    if record is None or not isinstance(result, dict) or "result" not in (record.facts or {}):
        known = ", ".join(_steps(history)) or "none"
        raise BakeoffError(f"{name} has no result that could be shown; steps that have one: {known}")
    facts = {"commit": result["commit"], "judged": result["commit"]}
    return Work(run, "passed" if record.final else record.status.value, facts, name, step=step)


def _steps(history: History) -> list[str]:
    """The steps that attempts were made for, or that have a result of their own."""
    attempts = [name.rpartition("#")[0] for name in history.decisions if "#attempts" in name]
    results = [path for path, record in history.records.items() if "result" in (record.facts or {})]
    return sorted({*attempts, *results}, key=lambda path: [(len(part), part) for part in re.split(r"[:/]", path)])


def _plans(history: History) -> set[str]:
    """The steps that are plans and have begun."""
    return {name.rpartition("#")[0] for name in history.decisions if "#plan:" in name}


def _only(run: str, history: History) -> str:
    """The one step that has a result.

    Raises:
        BakeoffError: there is none, or there are several.
    """
    steps = _steps(history)
    if len(steps) == 1:
        return steps[0]
    if not steps:
        raise BakeoffError(f"run {run} has made nothing that could be shown: it has neither attempts nor results")
    raise BakeoffError(f"run {run} has several steps with a result; name one: {', '.join(steps)}")


JOB = WorkflowJob()


def _session_schema() -> dict[str, Any]:
    """Schema of what `run` and `resume` print."""
    required = {
        "run_id": TEXT,
        "workflow_id": or_null(TEXT),
        "status": RUN_STATUS,
        "current_step_id": or_null(TEXT),
        "current_step_index": or_null(WHOLE),
    }
    return object_of(required, {"gate": GATE, "outputs": map_of(ANY), "error": TEXT})


def _explained_schema() -> dict[str, Any]:
    """Schema of what `run --dry-run` and `resume --explain` print."""
    action = {"enum": ["run", "reuse", "skip", "decide", "unknown"]}
    step = object_of({"path": TEXT, "type": TEXT, "action": action, "reason": TEXT})
    return object_of({"steps": list_of(step), "counts": map_of(WHOLE)})
