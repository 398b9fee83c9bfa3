"""Job `plan`: a goal in subplans, made side by side, merged and verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bakeoff.cli.jobs.job import Job, OpenRun, ResumeRequest
from bakeoff.errors import BakeoffError

if TYPE_CHECKING:
    from bakeoff.cli.lines import Display
    from bakeoff.engine.events import Event, Events
    from bakeoff.engine.store import RunFolder
    from bakeoff.jobs.landing import Work
    from bakeoff.plan.run.view import RunView

OF_ALL_RUNS = ("run_id", "status", "error", "usage", "applied")


class PlanJob(Job):
    """See `Job`."""

    lists_steps = False
    edit_hint = "; see `bakeoff plan correct`"

    def go_on(self, asked: ResumeRequest) -> NoReturn:
        """See `Job`."""
        from bakeoff.cli.plan_running import Landing, carry_out
        from bakeoff.jobs.session import RunOptions
        from bakeoff.plan.run.session import resume

        runs, run_options = asked.runs, RunOptions(max_parallel=asked.max_parallel, adopt=True)
        carry_out(lambda: resume(runs, asked.run, asked.inputs, run_options), run_options, runs, Landing(), **asked.how)

    def lines(self, run: OpenRun) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.cli.plan_running import result_lines

        return result_lines(_view(run))

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        from bakeoff.plan.run.plan_json import shown_plan

        shown = shown_plan(run.folder.id, _view(run), None, run.history.usage)
        return {name: value for name, value in shown.items() if name not in OF_ALL_RUNS}

    def page(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.cli.plan_running import work_of
        from bakeoff.jobs.landing import shown_diff
        from bakeoff.plan.run.page import plan_part, plan_verdict
        from bakeoff.report.page import report_page

        found = _view(run)
        diff = shown_diff(run.project, work_of(run.folder.id, found), False) if found.facts() else None
        return report_page(run.folder, plan_part(found, diff), plan_verdict(found))

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """See `Job`.

        Raises:
            BakeoffError: more is named than a subplan.
        """
        from bakeoff.cli.plan_running import work_of

        if len(where) > 1:
            raise BakeoffError(
                f"run {run.folder.id} is a plan: name one of its subplans, or nothing for all that landed"
            )
        return work_of(run.folder.id, _view(run), where[0] if where else None)

    def display(self, events: Events, project: Path) -> Display:
        """See `Job`."""
        from bakeoff.cli.plan_lines import PlanLines

        return PlanLines(events)

    def followed(self, folder: RunFolder, tell: Callable[[Event], None]) -> Callable[[Event], None]:
        """See `Job`."""
        from bakeoff.cli.plan_following import as_plan

        return as_plan(folder, tell)


def _view(run: OpenRun) -> RunView:
    from bakeoff.plan.run.view import run_view

    return run_view(run.history, run.status)


JOB = PlanJob()
