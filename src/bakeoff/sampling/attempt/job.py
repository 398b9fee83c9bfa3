"""Attempt job: agents at one task, and comparisons of what exists; as all commands see its runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bakeoff.errors import BakeoffError
from bakeoff.jobs.job import Job, JobSession, OpenRun, ResumeRequest, Schema, head, used
from bakeoff.jobs.outcome import UNFINISHED

if TYPE_CHECKING:
    from bakeoff.jobs.landing import Work
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.progress import Progress
    from bakeoff.report.verdict import Verdict
    from bakeoff.sampling.attempt.view import RunView


class AttemptJob(Job):
    """See `Job`."""

    name = "attempt"
    lists_steps = False
    has_result = True
    taken_as = "landed"

    def resume(self, asked: ResumeRequest) -> JobSession:
        """See `Job`."""
        from bakeoff.jobs.session import RunOptions
        from bakeoff.sampling.attempt.session import resume

        options = RunOptions(max_parallel=asked.max_parallel, adopt=True)
        return JobSession(asked.runs, options, lambda: resume(asked.runs, asked.run, asked.inputs, options))

    def progress(self) -> Progress:
        """See `Job`."""
        from bakeoff.sampling.attempt.lines import AttemptProgress

        return AttemptProgress()

    def lines(self, run: OpenRun) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.sampling.attempt.table import explanation, notes, table_lines

        found = _view(run)
        return [*table_lines(found), *notes(found), *explanation(found)]

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        found = _view(run)
        return {
            "job": self.name,
            "reason": found.reason,
            "winner": found.winner,
            "closest": found.closest,
            "snapshot": found.snapshot,
            "attempts": [
                view.to_json(found.names, found.options.bench is not None) for view in found.attempts.values()
            ],
        }

    def shown(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        return {**head(run, self.name), **self.facts(run), "usage": used(run)}

    def ending(self, run: OpenRun, landing: LandingOptions) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.sampling.attempt.table import ending_lines

        return ending_lines(run, _view(run), landing)

    def completed(self, run: OpenRun) -> int:
        """See `Job`."""
        return UNFINISHED if _view(run).winner is None else 0

    def page_part(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.jobs.landing import shown_diff
        from bakeoff.sampling.attempt.landing import work_of
        from bakeoff.sampling.attempt.page import attempts_part

        found = _view(run)
        number = found.winner if found.winner is not None else found.closest
        diff = None
        if number is not None:
            diff = shown_diff(run.project, work_of(run.folder.id, found, found.attempts[number]), False)
        return attempts_part(found, diff)

    def verdict(self, run: OpenRun) -> Verdict | None:
        """See `Job`."""
        from bakeoff.sampling.attempt.page import attempts_verdict

        return attempts_verdict(_view(run))

    def made(self, run: OpenRun) -> bool:
        """See `Job`."""
        return _view(run).chosen is not None

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """See `Job`.

        Raises:
            BakeoffError: more is named than an attempt.
        """
        from bakeoff.sampling.attempt.landing import attempt_number, chosen, work_of

        name = f"run {run.folder.id}"
        if len(where) > 1:
            raise BakeoffError(f"{name} is a run of attempts, which has no steps: name an attempt alone")
        found = _view(run)
        return work_of(run.folder.id, found, chosen(found, name, attempt_number(where)))

    def schemas(self) -> dict[str, Schema]:
        """See `Job`."""
        from bakeoff.sampling.attempt.schemas import attempt

        return {"attempt": attempt(), "compare": attempt()}

    def show_schema(self) -> Schema:
        """See `Job`."""
        from bakeoff.sampling.attempt.schemas import facts

        return facts()


def _view(run: OpenRun) -> RunView:
    from bakeoff.sampling.attempt.view import run_view

    return run.read(run_view)


JOB = AttemptJob()
