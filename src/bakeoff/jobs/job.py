"""Job: the protocol by which every command carries out, resumes, shows, follows, reports and lands runs of any job."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bakeoff.engine.record import RunStatus
from bakeoff.errors import BakeoffError, JournalError
from bakeoff.jobs.outcome import ending_lines
from bakeoff.jobs.registry import JOBS, WORKFLOW
from bakeoff.report.marks import IN_PART, WITHOUT
from bakeoff.report.overview import Overview, overview

if TYPE_CHECKING:
    from bakeoff.engine.events import Event
    from bakeoff.engine.history import History
    from bakeoff.engine.session import Ending
    from bakeoff.engine.store import RunFolder, RunStore
    from bakeoff.jobs.landing import Work
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.progress import Progress
    from bakeoff.jobs.session import RunOptions
    from bakeoff.report.verdict import Verdict

View = TypeVar("View")

Schema = dict[str, Any]


@dataclass(frozen=True)
class OpenRun:
    """Run that is looked at; its journal is read once, when it is needed.

    Attributes:
        ended: how the session ended that this process has just carried out.
        top: top of the project, where that is known.

    Raises:
        JournalError: from `history` and what follows from it: the journal cannot be read.
    """

    folder: RunFolder
    ended: Ending | None = None
    top: Path | None = None
    _views: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def history(self) -> History:
        """History that its journal tells."""
        return self.folder.history()

    @property
    def status(self) -> RunStatus:
        """Status of the run."""
        return self.folder.status_and_error(self.history)[0] if self.ended is None else self.ended.status

    @property
    def project(self) -> Path:
        """Top of the project that it belongs to."""
        return self.top or Path(str(self.history.meta.get("project") or self.folder.root.parents[2]))

    @cached_property
    def overview(self) -> Overview:
        """Overview of how it stands, without its nodes, and with secrets masked.

        Raises:
            JournalError: it cannot be read any more.
        """
        found = overview(self.folder)
        if found.status is None:
            raise JournalError(f"run {self.folder.id} ended, but does not read back: {found.error}")
        return found

    def read(self, view: Callable[[History, RunStatus], View]) -> View:
        """View of it, as `view` makes it, made once."""
        if view not in self._views:
            self._views[view] = view(self.history, self.status)
        found: View = self._views[view]
        return found


@dataclass(frozen=True, slots=True)
class JobSession:
    """Session of a job that is about to begin.

    Attributes:
        progress: what is said of it meanwhile; the job's usual one where it is left out.
    """

    store: RunStore
    options: RunOptions
    begin: Callable[[], Awaitable[tuple[RunFolder, Ending]]]
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """Request of `bakeoff resume`: what it was asked for."""

    runs: RunStore
    run: str
    inputs: dict[str, Any]
    max_parallel: int | None
    edit: Path | None = None


class Taken(Protocol):
    """Record of what was done with a result."""

    @property
    def said(self) -> str:
        """In words."""
        ...

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        ...


class Job:
    """Protocol of a job: override what it has; what is here is right for a job of steps.

    Attributes:
        name: as the registry has it.
        lists_steps: whether `show` lists the nodes of a run without `--all`.
        has_result: whether what a run came to is printed as a result: also with `--quiet`, on standard output however
            it ended.
        takes_files: whether a run can be gone on with by another file, and be explained.
        edit_hint: said where it cannot.
        no_inputs: said where it is gone on with and given inputs, if it has none.
        taken_as: what `--json` calls what was done with the result; empty where nothing ever is.
    """

    name = ""
    lists_steps = True
    has_result = False
    takes_files = False
    edit_hint = ""
    no_inputs = ""
    taken_as = ""

    def resume(self, asked: ResumeRequest) -> JobSession:
        """The session that goes on with a run. Passes on BakeoffError: it cannot be gone on with.

        Raises:
            NotImplementedError: runs of it cannot.
        """
        raise NotImplementedError

    def explain(self, asked: ResumeRequest) -> Sequence[Any]:
        """Explanation of what would run again, and why; see `bakeoff.workflow.explain_walk.Row`.

        Raises:
            NotImplementedError: it does not take files.
        """
        raise NotImplementedError

    def progress(self) -> Progress:
        """Progress of a run: what is said of it while it goes on."""
        from bakeoff.jobs.steps import StepsProgress

        return StepsProgress()

    def followed(self, folder: RunFolder, tell: Callable[[Event], None]) -> Callable[[Event], None]:
        """Callback that hands events of a run's journal on to `tell`, with those that only its own process emits."""
        return tell

    def lines(self, run: OpenRun) -> Iterable[str]:
        """Lines that `show` prints of it between head and foot, besides its nodes."""
        return ()

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """Facts that `show --json` has of it besides what all runs have."""
        return {}

    def shown(self, run: OpenRun) -> Mapping[str, Any]:
        """JSON that `--json` prints of a session, besides what was done with the result."""
        found = run.overview
        facts = {name: found.facts[name] for name in ("gate", "outputs") if name in found.facts}
        shown = {
            "run_id": run.folder.id,
            "workflow_id": found.workflow_id,
            "status": found.status,
            "current_step_id": found.facts.get("current_step_id"),
            "current_step_index": found.facts.get("current_step_index"),
        }
        return shown | facts | ({} if found.error is None else {"error": found.error})

    def ending(self, run: OpenRun, landing: LandingOptions) -> Iterable[str]:
        """Lines that are printed when a session is over; `landing` is what is done with its result."""
        return ending_lines(run.overview)

    def completed(self, run: OpenRun) -> int:
        """The exit status of a run that is completed. Passes on JournalError: it cannot be read any more."""
        assert run.overview.status is not None  # a run that was removed meanwhile is told
        return 0

    def reached(self, facts: Mapping[str, Any]) -> list[bool] | None:
        """Of each thing that a completed run was to bring, whether it did; None where that is not on record."""
        return [facts["winner"] is not None] if "winner" in facts else None

    def page(self, run: OpenRun) -> Iterator[str]:
        """Its report in HTML, in pieces: the verdict, what only the job has to show, then what all runs have."""
        from bakeoff.jobs.outcome import how_to_go_on
        from bakeoff.report.page import report_page

        go_on = how_to_go_on(run.folder.id, run.status, run.history.meta.get("job"))
        return report_page(run.folder, self.page_part(run), self.verdict(run), go_on)

    def page_part(self, run: OpenRun) -> Iterator[str]:
        """Part of its report that only the job has, as HTML that has been escaped, in pieces."""
        return iter(())

    def verdict(self, run: OpenRun) -> Verdict | None:
        """The verdict at the top of its report; None where the run's status and steps say it."""
        return None

    def markdown(self, run: OpenRun) -> Iterator[str]:
        """Its report in Markdown, in pieces.

        Raises:
            BakeoffError: it has none.
        """
        raise BakeoffError(f"run {run.folder.id} is no optimisation: only these have a report in Markdown")

    def made(self, run: OpenRun) -> bool:
        """Whether it has a result of its own that can be landed."""
        return False

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """Work that a run made, for `diff` and `apply`; `where` names a part of it.

        Raises:
            BakeoffError: it made nothing there.
        """
        raise BakeoffError(f"run {run.folder.id} has made nothing that could be shown")

    def land(self, run: OpenRun, where: tuple[str, ...], landing: LandingOptions, say: Callable[[str], None]) -> Taken:
        """Write that into the user's files, or into a branch; `say` is told what a person should know of it.

        Passes on BakeoffError: nothing was made there, or it conflicts; nothing is touched then.
        """
        from bakeoff.jobs.landing import land

        work = self.work(run, where)
        landed = land(run.project, work, landing.branch, landing.with_tests)
        if work.status != "passed":
            say(f"! {landed.what} has not passed: {work.status}")
        return landed

    def schemas(self) -> dict[str, Schema]:
        """JSON Schemas of what its commands print with `--json`, by the name that `bakeoff schema --of` knows."""
        return {}

    def show_schema(self) -> Schema:
        """JSON Schema of what `facts` adds to `show --json`, an object; empty for a job of steps."""
        return {}

    def taken_schema(self) -> Schema:
        """JSON Schema of what was done with a result."""
        from bakeoff.report.schema_parts import LANDED

        return LANDED


def head(run: OpenRun, job: str) -> dict[str, Any]:
    """Head of `--json`: what it has first of a session's run."""
    error = None if run.ended is None else run.ended.error
    return {"run_id": run.folder.id, "job": job, "status": run.status.value, "error": error}


def used(run: OpenRun) -> dict[str, float]:
    """Usage of a run, by kind, as `--json` has it."""
    return {kind: round(amount, 9) for kind, amount in run.history.usage.items() if amount}


def job_called(name: str | None) -> Job:
    """The job of that name; of an unknown one, or none, what is right for a run of steps."""
    job: Job = import_module(JOBS.get(name or "", WORKFLOW).module).JOB
    return job


def job_of(run: OpenRun) -> Job:
    """The job that made a run. Passes on JournalError."""
    return job_called(run.history.meta.get("job"))


def outcome(name: str | None, status: RunStatus | None, facts: Mapping[str, Any]) -> tuple[str, str] | None:
    """Outcome of a completed run without a result, or with part of it: as a sign, and in words; None for any other."""
    nothing = JOBS[name].nothing if name in JOBS else ""
    if status is not RunStatus.COMPLETED or not nothing:
        return None
    reached = job_called(name).reached(facts)
    if reached is None or all(reached):
        return None
    if not any(reached):
        return WITHOUT, nothing
    return IN_PART, f"{sum(reached)} of {len(reached)} landed"
