"""Job `optimize`: candidates for code, judged by behaviour and speed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bakeoff.cli.jobs.job import Job, OpenRun, ResumeRequest
from bakeoff.errors import BakeoffError

if TYPE_CHECKING:
    from bakeoff.cli.lines import Display
    from bakeoff.engine.events import Events
    from bakeoff.jobs.landing import Work
    from bakeoff.optimize.view import RunView

SHOWN = ("job", "target", "snapshot", "baseline", "candidates", "winner", "bench", "functions")


class Optimisation(Job):
    """See `Job`."""

    lists_steps = False

    def go_on(self, asked: ResumeRequest) -> NoReturn:
        """See `Job`."""
        from bakeoff.cli.optimizing import Landing, carry_out
        from bakeoff.jobs.session import RunOptions
        from bakeoff.optimize.session import resume

        runs, run_options = asked.runs, RunOptions(max_parallel=asked.max_parallel, adopt=True)
        carry_out(lambda: resume(runs, asked.run, run_options, asked.inputs), run_options, runs, Landing(), **asked.how)

    def lines(self, run: OpenRun) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.cli.optimizing import explanation, profile_lines, table_lines

        found = _view(run)
        return [*table_lines(found), *explanation(found), *profile_lines(found)]

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        from bakeoff.cli.optimizing import shown_run

        shown = shown_run(run.folder, _view(run), None)
        return {name: shown[name] for name in SHOWN if name in shown}

    def page(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.optimize.page import optimisation, optimisation_verdict
        from bakeoff.report.page import report_page

        found = _view(run)
        return report_page(run.folder, optimisation(found, _diff(run, found)), optimisation_verdict(found))

    def markdown(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.optimize.markdown import markdown

        found = _view(run)
        return iter(markdown(run.folder.id, found, _diff(run, found)))

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """See `Job`.

        Raises:
            BakeoffError: a part is named; it has none.
        """
        from bakeoff.cli.optimizing import work_of

        if where:
            raise BakeoffError(f"run {run.folder.id} is an optimisation: it has one winner, so name nothing besides")
        return work_of(run.folder.id, _view(run))

    def display(self, events: Events, project: Path) -> Display:
        """See `Job`."""
        from bakeoff.cli.optimize_lines import OptimizeLines

        return OptimizeLines(events)


def _view(run: OpenRun) -> RunView:
    from bakeoff.optimize.view import run_view

    return run_view(run.history, run.status)


def _diff(run: OpenRun, found: RunView) -> Any:
    from bakeoff.cli.optimizing import winners_diff

    return winners_diff(run.project, run.folder.id, found)


JOB = Optimisation()
