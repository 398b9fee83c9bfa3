"""Job `attempt`: agents at one task, and comparisons of what exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from bakeoff.cli.jobs.job import Job, OpenRun, ResumeRequest
from bakeoff.errors import BakeoffError
from bakeoff.jobs.landing import Work
from bakeoff.sampling.attempt.view import RunView, run_view

SHOWN = ("job", "reason", "winner", "closest", "snapshot", "attempts")


class Attempts(Job):
    """See `Job`."""

    lists_steps = False

    def go_on(self, asked: ResumeRequest) -> NoReturn:
        """See `Job`."""
        from bakeoff.cli.attempting import Landing, carry_out
        from bakeoff.jobs.session import RunOptions
        from bakeoff.sampling.attempt.session import resume

        runs, run_options = asked.runs, RunOptions(max_parallel=asked.max_parallel, adopt=True)
        carry_out(lambda: resume(runs, asked.run, asked.inputs, run_options), run_options, runs, Landing(), **asked.how)

    def lines(self, run: OpenRun) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.cli.attempt_table import explanation, notes, table_lines

        found = _view(run)
        return [*table_lines(found), *notes(found), *explanation(found)]

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        from bakeoff.cli.attempting import shown_run

        shown = shown_run(run.folder, _view(run), None, run.history.usage)
        return {name: shown[name] for name in SHOWN}

    def page(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.cli.attempt_page import attempts_part, attempts_verdict
        from bakeoff.jobs.landing import shown_diff
        from bakeoff.report.page import report_page
        from bakeoff.sampling.attempt.landing import work_of

        found = _view(run)
        number = found.winner if found.winner is not None else found.closest
        diff = None
        if number is not None:
            diff = shown_diff(run.project, work_of(run.folder.id, found, found.attempts[number]), False)
        return report_page(run.folder, attempts_part(found, diff), attempts_verdict(found))

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """See `Job`.

        Raises:
            BakeoffError: more is named than an attempt.
        """
        from bakeoff.sampling.attempt.landing import chosen, work_of

        name = f"run {run.folder.id}"
        if len(where) > 1:
            raise BakeoffError(f"{name} is a run of attempts, which has no steps: name an attempt alone")
        found = _view(run)
        return work_of(run.folder.id, found, chosen(found, name, attempt_number(where)))


def attempt_number(where: tuple[str, ...]) -> int | None:
    """The attempt that is named; None where none is.

    Raises:
        BakeoffError: it is no number.
    """
    if not where:
        return None
    if not where[0].isdecimal():
        raise BakeoffError(f"{where[0]!r} is no number of an attempt")
    return int(where[0])


def _view(run: OpenRun) -> RunView:
    return run_view(run.history, run.status)


JOB = Attempts()
