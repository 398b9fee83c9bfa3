"""Finding what a run that exists has made: attempts, and results of a workflow's steps."""

from __future__ import annotations

import re
from pathlib import Path

from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus
from bakeoff.engine.store import RunFolder
from bakeoff.errors import BakeoffError
from bakeoff.report.outline import called
from bakeoff.sampling.attempt.landing import Work, chosen
from bakeoff.sampling.attempt.standing import JOB, standing, step_standing

OPTIMIZE = "optimize"
"""The job of an optimisation's run; a name, so that other runs need not import it."""

MERGE = "merge"
"""The same of a merge."""

PLAN = "plan"
"""The same of a plan."""


def open_work(run: str, where: tuple[str, ...]) -> tuple[Path, RunFolder, Work]:
    """The project, the run, and what it made.

    Args:
        run: the run's id.
        where: of a run of attempts the number of one, or nothing for the winner; of a workflow's run the step, unless
            only one has made anything, and then the same; of a plan, also of a step that is one, its subplan, or
            nothing for the result.

    Raises:
        BakeoffError: nothing was made there.

    Passes on RunNotFoundError and JournalError: there is none of that name, or it cannot be read.
    """
    from bakeoff.cli.opening import store

    runs = store()
    folder = runs.open(run)
    history = folder.history()
    status, _ = folder.standing(history)
    project = Path(str(history.meta.get("project") or runs.project))
    if history.meta.get("job") == OPTIMIZE:
        from bakeoff.cli.optimizing import work_of
        from bakeoff.optimize.standing import standing as optimisation

        if where:
            raise BakeoffError(f"run {run} is an optimisation: it has one winner, so name nothing besides")
        return project, folder, work_of(folder.id, optimisation(history, status))
    if history.meta.get("job") == MERGE:
        from bakeoff.cli.merging import work_of as merged
        from bakeoff.plan.queue.standing import standing as merge

        if where:
            raise BakeoffError(f"run {run} is a merge: what it landed is one, so name nothing besides")
        return project, folder, merged(folder.id, merge(history, status))
    if history.meta.get("job") == PLAN:
        from bakeoff.cli.plan_running import work_of as planned
        from bakeoff.plan.run.standing import standing as plan

        if len(where) > 1:
            raise BakeoffError(f"run {run} is a plan: name one of its subplans, or nothing for all that landed")
        return project, folder, planned(folder.id, plan(history, status), where[0] if where else None)
    if history.meta.get("job") != JOB:
        return project, folder, _of_step(folder.id, history, status, where)
    if len(where) > 1:
        raise BakeoffError(f"run {run} is a run of attempts, which has no steps: name an attempt alone")
    found = standing(history, status)
    return project, folder, Work.of(folder.id, found, chosen(found, f"run {run}", _number(where)))


def _number(where: tuple[str, ...]) -> int | None:
    """The attempt that is named.

    Raises:
        BakeoffError: it is no number.
    """
    if not where:
        return None
    if not where[0].isdecimal():
        raise BakeoffError(f"{where[0]!r} is no number of an attempt")
    return int(where[0])


def _of_step(run: str, history: History, status: RunStatus, where: tuple[str, ...]) -> Work:
    if not where:
        where = (_only(run, history),)
    step, attempt = called((*_steps(history), *_plans(history)), where[0]), where[1:]
    name = f"step {step} of run {run}"
    found = step_standing(history, status, step)
    if found is not None:
        return Work.of(run, found, chosen(found, name, _number(tuple(attempt))), step)
    if attempt and step in _plans(history):
        from bakeoff.cli.plan_running import work_of
        from bakeoff.plan.run.standing import step_standing as plan_standing

        plan = plan_standing(history, status, step)
        if plan is not None and len(attempt) == 1:
            return work_of(run, plan, attempt[0], step)
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
