"""Job as commands see it: the protocol that `resume`, `show`, `watch`, `report`, `diff` and `apply` work by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from bakeoff.errors import BakeoffError
from bakeoff.jobs.registry import JOBS, WORKFLOW

if TYPE_CHECKING:
    from bakeoff.cli.lines import Display
    from bakeoff.engine.events import Event, Events
    from bakeoff.engine.history import History
    from bakeoff.engine.record import RunStatus
    from bakeoff.engine.store import RunFolder, RunStore
    from bakeoff.jobs.landing import Landed, Work
    from bakeoff.plan.merge.landing import Moved


@dataclass(frozen=True)
class OpenRun:
    """Run that is looked at; its journal is read once, when it is needed.

    Raises:
        JournalError: from `history` and what follows from it: the journal cannot be read.
    """

    folder: RunFolder

    @cached_property
    def history(self) -> History:
        """What its journal tells."""
        return self.folder.history()

    @property
    def status(self) -> RunStatus:
        """How it stands."""
        return self.folder.status_and_error(self.history)[0]

    @property
    def project(self) -> Path:
        """Top of the project that it belongs to."""
        return Path(str(self.history.meta.get("project") or self.folder.root.parents[2]))


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    """What `bakeoff resume` was asked for."""

    runs: RunStore
    run: str
    inputs: dict[str, Any]
    max_parallel: int | None
    edit: Path | None
    explain: bool
    despite_damage: bool
    as_json: bool
    quiet: bool

    @property
    def how(self) -> dict[str, bool]:
        """How the ending is printed."""
        return {"as_json": self.as_json, "quiet": self.quiet}


class Job:
    """Protocol of a job: override what it has; what is here is right for a job of steps.

    Attributes:
        lists_steps: whether `show` lists the nodes of a run without `--all`.
        edit_hint: said where a run of it is to be gone on with by another file.
    """

    lists_steps = True
    edit_hint = ""

    def resume(self, asked: ResumeRequest) -> NoReturn:
        """Go on with a run, and leave with its exit status. Passes on BakeoffError: it cannot be gone on with."""
        from bakeoff.cli.opening import misused, refuse_losses

        if asked.edit is not None or asked.explain:
            misused(f"--edit and --explain are for runs of workflow files{self.edit_hint}")
        if not asked.despite_damage:
            refuse_losses(asked.runs.open(asked.run))
        self.go_on(asked)

    def go_on(self, asked: ResumeRequest) -> NoReturn:
        """The same, once the request was checked.

        Raises:
            NotImplementedError: the job has no way of its own.
        """
        raise NotImplementedError

    def lines(self, run: OpenRun) -> Iterable[str]:
        """What `show` prints of it between head and foot, besides its nodes."""
        return ()

    def facts(self, run: OpenRun) -> dict[str, Any]:
        """What `show --json` has of it besides what all runs have."""
        return {}

    def page(self, run: OpenRun) -> Iterator[str]:
        """Its report in HTML, in pieces."""
        from bakeoff.report.page import report_page

        return report_page(run.folder)

    def markdown(self, run: OpenRun) -> Iterator[str]:
        """Its report in Markdown, in pieces.

        Raises:
            BakeoffError: it has none.
        """
        raise BakeoffError(f"run {run.folder.id} is no optimisation: only these have a report in Markdown")

    def work(self, run: OpenRun, where: tuple[str, ...]) -> Work:
        """What a run made, for `diff` and `apply`; `where` names a part of it.

        Raises:
            BakeoffError: it made nothing there.
        """
        raise BakeoffError(f"run {run.folder.id} has made nothing that could be shown")

    def land(self, run: OpenRun, where: tuple[str, ...], branch: str | None, with_tests: bool) -> Landed | Moved:
        """Write that into the user's files or a branch.

        Passes on BakeoffError: nothing was made there, or it conflicts; nothing is touched then.
        """
        from bakeoff.cli.say import say
        from bakeoff.jobs.landing import land

        work = self.work(run, where)
        landed = land(run.project, work, branch, with_tests)
        if work.status != "passed":
            say(f"! {landed.what} has not passed: {work.status}")
        return landed

    def display(self, events: Events, project: Path) -> Display:
        """What draws a live run of it on standard error."""
        from bakeoff.cli.showing import Showing

        return Showing(events, project, quiet=False, ask=False)

    def followed(self, folder: RunFolder, tell: Callable[[Event], None]) -> Callable[[Event], None]:
        """What hands events of a run's journal on to `tell`, with those that only its own process emits."""
        return tell


def job_called(name: str | None) -> Job:
    """The job of that name; of an unknown one, or none, what is right for a run of steps."""
    job: Job = import_module(JOBS.get(name or "", WORKFLOW).module).JOB
    return job


def job_of(run: OpenRun) -> Job:
    """The job that made a run. Passes on JournalError."""
    return job_called(run.history.meta.get("job"))
