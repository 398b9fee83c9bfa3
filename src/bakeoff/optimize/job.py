"""Optimisation job: candidates for code, judged by behaviour and speed; as all commands see its runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bakeoff.errors import BakeoffError
from bakeoff.jobs.job import Job, JobSession, OpenRun, ResumeRequest, Schema, head
from bakeoff.jobs.outcome import UNFINISHED

if TYPE_CHECKING:
    from bakeoff.jobs.landing import Work
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.progress import Progress
    from bakeoff.optimize.view import RunView
    from bakeoff.report.verdict import Verdict


class OptimizeJob(Job):
    """See `Job`."""

    name = "optimize"
    lists_steps = False
    has_result = True
    taken_as = "landed"

    def resume(self, asked: ResumeRequest) -> JobSession:
        """See `Job`."""
        from bakeoff.jobs.session import RunOptions
        from bakeoff.optimize.session import resume

        options = RunOptions(max_parallel=asked.max_parallel, adopt=True)
        return JobSession(asked.runs, options, lambda: resume(asked.runs, asked.run, options, asked.inputs))

    def progress(self) -> Progress:
        """See `Job`."""
        from bakeoff.optimize.lines import OptimizeProgress

        return OptimizeProgress()

    def lines(self, run: OpenRun) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.optimize.table import explanation, profile_lines, table_lines

        found = _view(run)
        return [*table_lines(found), *explanation(found), *profile_lines(found)]

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        found = _view(run)
        asked = {"job": self.name, "target": found.options.target, "snapshot": found.snapshot}
        return {**asked, **found.to_json()}

    def shown(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        shown = {**head(run, self.name), **self.facts(run), "usage": dict(_view(run).usage)}
        if shown["error"] is None:
            del shown["error"]
        return shown

    def ending(self, run: OpenRun, landing: LandingOptions) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.optimize.table import ending_lines

        return ending_lines(run, _view(run), landing)

    def completed(self, run: OpenRun) -> int:
        """See `Job`."""
        return UNFINISHED if _view(run).winner is None else 0

    def page_part(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.optimize.page import optimisation
        from bakeoff.optimize.table import winners_diff

        found = _view(run)
        return optimisation(found, winners_diff(run.project, run.folder.id, found))

    def verdict(self, run: OpenRun) -> Verdict | None:
        """See `Job`."""
        from bakeoff.optimize.page import optimisation_verdict

        return optimisation_verdict(_view(run))

    def markdown(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.optimize.markdown import markdown
        from bakeoff.optimize.table import winners_diff

        found = _view(run)
        return iter(markdown(run.folder.id, found, winners_diff(run.project, run.folder.id, found)))

    def made(self, run: OpenRun) -> bool:
        """See `Job`."""
        return _view(run).winner is not None

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """See `Job`.

        Raises:
            BakeoffError: a part is named; it has none.
        """
        from bakeoff.optimize.table import work_of

        if where:
            raise BakeoffError(f"run {run.folder.id} is an optimisation: it has one winner, so name nothing besides")
        return work_of(run.folder.id, _view(run))

    def schemas(self) -> dict[str, Schema]:
        """See `Job`."""
        from bakeoff.optimize.schemas import optimize, ranking

        return {"optimize": optimize(), "ranking": ranking()}

    def show_schema(self) -> Schema:
        """See `Job`."""
        from bakeoff.optimize.schemas import facts

        return facts()


def _view(run: OpenRun) -> RunView:
    from bakeoff.optimize.view import run_view

    return run.read(run_view)


JOB = OptimizeJob()
