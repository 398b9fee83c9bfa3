"""Merge job: branches in order, verified together; as all commands see its runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bakeoff.engine.record import RunStatus
from bakeoff.errors import BakeoffError
from bakeoff.jobs.job import Job, JobSession, OpenRun, ResumeRequest, Schema, head
from bakeoff.jobs.outcome import EXIT, UNFINISHED

if TYPE_CHECKING:
    from bakeoff.jobs.landing import Work
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.progress import Progress
    from bakeoff.plan.merge.landing import Moved
    from bakeoff.plan.queue.view import RunView
    from bakeoff.report.verdict import Verdict


class MergeJob(Job):
    """See `Job`. What landed is taken by moving a branch, and the files with it where it is checked out."""

    name = "merge"
    lists_steps = False
    has_result = True
    no_inputs = "-i: a merge has no inputs that could be changed"
    taken_as = "moved"

    def resume(self, asked: ResumeRequest) -> JobSession:
        """See `Job`."""
        from bakeoff.jobs.session import RunOptions
        from bakeoff.plan.queue.lines import MergeProgress
        from bakeoff.plan.queue.session import resume

        options = RunOptions(max_parallel=asked.max_parallel, adopt=True)
        refs = _view(OpenRun(asked.runs.open(asked.run))).options.refs
        return JobSession(asked.runs, options, lambda: resume(asked.runs, asked.run, options), MergeProgress(refs))

    def progress(self) -> Progress:
        """See `Job`."""
        from bakeoff.plan.queue.lines import MergeProgress

        return MergeProgress()

    def lines(self, run: OpenRun) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.plan.queue.table import result_lines

        return result_lines(_view(run))

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        from bakeoff.plan.queue.findings import Findings

        found = _view(run)
        findings = found.findings or Findings("", "")
        if found.findings is None and found.brought is not None:
            findings.base = findings.tip = found.brought.snapshot.commit
        return {"job": self.name, **findings.to_json()}

    def shown(self, run: OpenRun) -> dict[str, Any]:
        """See `Job`."""
        return {**head(run, self.name), **self.facts(run)}

    def ending(self, run: OpenRun, landing: LandingOptions) -> Iterable[str]:
        """See `Job`."""
        from bakeoff.plan.queue.table import ending_lines

        return ending_lines(run, _view(run), landing)

    def completed(self, run: OpenRun) -> int:
        """See `Job`."""
        found = _view(run)
        if not found.facts():
            return EXIT[RunStatus.FAILED]
        return 0 if found.whole else UNFINISHED

    def reached(self, facts: Mapping[str, Any]) -> list[bool] | None:
        """See `Job`: whether each branch landed."""
        found = facts.get("findings")
        if not isinstance(found, Mapping):
            return None
        out = {one["ref"] for name in ("conflicts", "culprits", "preexisting") for one in found[name]}
        landed = set(found["landed"])
        return [*(True for _ in landed), *(False for _ in out - landed)]

    def page_part(self, run: OpenRun) -> Iterator[str]:
        """See `Job`."""
        from bakeoff.jobs.landing import shown_diff
        from bakeoff.plan.queue.page import merge_part

        found = _view(run)
        if found.findings is None:
            return iter(())
        diff = shown_diff(run.project, self.work(run, ()), False) if found.facts() else None
        return merge_part(found.findings, diff)

    def verdict(self, run: OpenRun) -> Verdict | None:
        """See `Job`."""
        from bakeoff.plan.queue.page import merge_verdict

        found = _view(run)
        return None if found.findings is None else merge_verdict(found.findings, len(found.options.refs))

    def made(self, run: OpenRun) -> bool:
        """See `Job`."""
        return bool(_view(run).facts())

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """See `Job`.

        Raises:
            BakeoffError: nothing landed, or a part is named; it has none.
        """
        from bakeoff.jobs.landing import Work

        if where:
            raise BakeoffError(f"run {run.folder.id} is a merge: what it landed is one, so name nothing besides")
        found = _view(run)
        if not (facts := found.facts()):
            raise BakeoffError(f"run {run.folder.id} merged nothing that could be shown")
        return Work(run.folder.id, "passed", facts, f"Merge {', '.join(found.options.refs)}"[:72])

    def land(self, run: OpenRun, where: tuple[str, ...], landing: LandingOptions, say: Callable[[str], None]) -> Moved:
        """See `Job`: the branch of that name is moved, or the one that is checked out."""
        from bakeoff.plan.merge.landing import move_branch, move_checkout

        tip = str(self.work(run, where).facts["commit"])
        if landing.branch is None:
            return move_checkout(run.project, run.folder.id, tip)
        return move_branch(run.project, run.folder.id, tip, landing.branch)

    def schemas(self) -> dict[str, Schema]:
        """See `Job`."""
        from bakeoff.plan.queue.schemas import merge

        return {"merge": merge()}

    def show_schema(self) -> Schema:
        """See `Job`."""
        from bakeoff.plan.queue.schemas import facts

        return facts()

    def taken_schema(self) -> Schema:
        """See `Job`."""
        from bakeoff.plan.queue.schemas import MOVED

        return MOVED


def _view(run: OpenRun) -> RunView:
    from bakeoff.plan.queue.view import run_view

    return run.read(run_view)


JOB = MergeJob()
