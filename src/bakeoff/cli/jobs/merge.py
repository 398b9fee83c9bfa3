"""Job `merge`: branches in order, verified together."""

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
    from bakeoff.plan.merge.landing import Moved
    from bakeoff.plan.queue.view import RunView

OF_ALL_RUNS = ("run_id", "status", "error", "moved")


class Merge(Job):
    """See `Job`."""

    lists_steps = False

    def go_on(self, asked: ResumeRequest) -> NoReturn:
        """See `Job`."""
        from bakeoff.cli.merging import Landing, carry_out
        from bakeoff.cli.opening import misused
        from bakeoff.jobs.session import RunOptions
        from bakeoff.plan.queue.session import resume

        if asked.inputs:
            misused("-i: a merge has no inputs that could be changed")
        runs, run_options = asked.runs, RunOptions(max_parallel=asked.max_parallel, adopt=True)
        refs = _view(OpenRun(runs.open(asked.run))).options.refs
        carry_out(lambda: resume(runs, asked.run, run_options), run_options, runs, Landing(), refs=refs, **asked.how)

    def lines(self, run: OpenRun) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.cli.merging import result_lines

        return result_lines(_view(run))

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        from bakeoff.cli.merging import shown_run

        shown = shown_run(run.folder, _view(run), None)
        return {name: value for name, value in shown.items() if name not in OF_ALL_RUNS}

    def page(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.cli.merging import work_of
        from bakeoff.jobs.landing import shown_diff
        from bakeoff.plan.queue.page import merge_part, merge_verdict
        from bakeoff.report.page import report_page

        found = _view(run)
        if found.findings is None:
            return report_page(run.folder)
        diff = shown_diff(run.project, work_of(run.folder.id, found), False) if found.facts() else None
        verdict = merge_verdict(found.findings, len(found.options.refs))
        return report_page(run.folder, merge_part(found.findings, diff), verdict)

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """See `Job`.

        Raises:
            BakeoffError: a part is named; it has none.
        """
        from bakeoff.cli.merging import work_of

        if where:
            raise BakeoffError(f"run {run.folder.id} is a merge: what it landed is one, so name nothing besides")
        return work_of(run.folder.id, _view(run))

    def land(self, run: OpenRun, where: tuple[str, ...], branch: str | None, with_tests: bool) -> Moved:
        """See `Job`: a branch is moved, and the files with it where it is checked out."""
        from bakeoff.cli.merging import move
        from bakeoff.cli.opening import store

        self.work(run, where)
        return move(store(), run.folder.id, _view(run), branch)

    def display(self, events: Events, project: Path) -> Display:
        """See `Job`."""
        from bakeoff.cli.merge_lines import MergeLines

        return MergeLines(events)


def _view(run: OpenRun) -> RunView:
    from bakeoff.plan.queue.view import run_view

    return run_view(run.history, run.status)


JOB = Merge()
