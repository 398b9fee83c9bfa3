"""Plan job: a goal in subplans, made side by side, merged and verified; as all commands see its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bakeoff.engine.record import RunStatus
from bakeoff.errors import BakeoffError
from bakeoff.jobs.job import Job, JobSession, OpenRun, ResumeRequest, Schema, head, used
from bakeoff.jobs.outcome import EXIT, UNFINISHED

if TYPE_CHECKING:
    from bakeoff.engine.events import Event
    from bakeoff.engine.store import RunFolder
    from bakeoff.jobs.landing import Work
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.progress import Progress
    from bakeoff.plan.run.changes import Change
    from bakeoff.plan.run.view import RunView
    from bakeoff.report.verdict import Verdict


class PlanJob(Job):
    """See `Job`."""

    name = "plan"
    lists_steps = False
    has_result = True
    edit_hint = "; see `bakeoff plan correct`"
    taken_as = "applied"

    def resume(self, asked: ResumeRequest, change: Change | None = None) -> JobSession:
        """See `Job`; with a change of the plan, too."""
        from bakeoff.jobs.session import RunOptions
        from bakeoff.plan.run.session import resume

        options = RunOptions(max_parallel=asked.max_parallel, adopt=True)
        return JobSession(asked.runs, options, lambda: resume(asked.runs, asked.run, asked.inputs, options, change))

    def progress(self) -> Progress:
        """See `Job`."""
        from bakeoff.plan.run.lines import PlanProgress

        return PlanProgress()

    def followed(self, folder: RunFolder, tell: Callable[[Event], None]) -> Callable[[Event], None]:
        """See `Job`."""
        from bakeoff.plan.run.lines import as_plan

        return as_plan(folder, tell)

    def lines(self, run: OpenRun) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.plan.run.table import result_lines

        return result_lines(_view(run))

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        from bakeoff.plan.run.view import shown_plan

        return {"job": self.name, **shown_plan(_view(run))}

    def shown(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        return {**head(run, self.name), **self.facts(run), "usage": used(run)}

    def ending(self, run: OpenRun, landing: LandingOptions) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.plan.run.table import ending_lines

        return ending_lines(run, _view(run), landing)

    def completed(self, run: OpenRun) -> int:
        """See `Job`."""
        found = _view(run)
        if found.findings is None or not found.findings.landed:
            return EXIT[RunStatus.FAILED]
        return 0 if found.whole else UNFINISHED

    def reached(self, facts: Mapping[str, Any]) -> list[bool] | None:
        """See `Job`: whether each subplan landed that was not left out."""
        plan = facts.get("plan")
        if not isinstance(plan, Mapping):
            return None
        return [bool(state["landed"]) for state in plan["states"].values() if state["status"] != "skipped"]

    def page_part(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.jobs.landing import shown_diff
        from bakeoff.plan.run.page import plan_part

        found = _view(run)
        diff = shown_diff(run.project, self.work(run, ()), False) if found.facts() else None
        return plan_part(found, diff)

    def verdict(self, run: OpenRun) -> Verdict | None:
        """See `Job`."""
        from bakeoff.plan.run.page import plan_verdict

        return plan_verdict(_view(run))

    def made(self, run: OpenRun) -> bool:
        """See `Job`."""
        return bool(_view(run).facts())

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """See `Job`.

        Raises:
            BakeoffError: more is named than a subplan.
        """
        from bakeoff.plan.run.landing import work_of

        if len(where) > 1:
            raise BakeoffError(
                f"run {run.folder.id} is a plan: name one of its subplans, or nothing for all that landed"
            )
        return work_of(run.folder.id, _view(run), where[0] if where else None)

    def schemas(self) -> dict[str, Schema]:
        """See `Job`."""
        from bakeoff.plan.run.schemas import decomposition, plan_run

        return {"plan-decompose": decomposition(), "plan-run": plan_run()}

    def show_schema(self) -> Schema:
        """See `Job`."""
        from bakeoff.plan.run.schemas import facts

        return facts()


def _view(run: OpenRun) -> RunView:
    from bakeoff.plan.run.view import run_view

    return run.read(run_view)


JOB = PlanJob()
