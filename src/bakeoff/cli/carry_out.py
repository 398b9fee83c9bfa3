"""Carrying out a session of any job: under its display, to its result, landed as asked, and to its exit status."""

from __future__ import annotations

import sys
from typing import NoReturn

from bakeoff.cli.asking import TerminalAsker, somebody_is_there
from bakeoff.cli.display import Display, run_session
from bakeoff.cli.options import SessionFlags
from bakeoff.cli.output import covered, print_json, say, stdout_is_gone, tell
from bakeoff.engine.record import RunStatus
from bakeoff.errors import BakeoffError
from bakeoff.jobs.job import Job, JobSession, OpenRun, Taken
from bakeoff.jobs.landing_options import LandingOptions
from bakeoff.jobs.outcome import exit_status
from bakeoff.report.escape import visible
from bakeoff.system.named_files import write_whole

NOTHING = LandingOptions()
"""The result is only shown."""


def carry_out(job: Job, session: JobSession, flags: SessionFlags, landing: LandingOptions = NOTHING) -> NoReturn:
    """Run a session under a display, print what came of it, land what was asked for, leave with the exit status.

    Passes on BakeoffError: it could not be run, or its result could not be landed.
    """
    options, project, as_json = session.options, session.store.project, flags.as_json
    display = None if flags.quiet else Display(options.events, session.progress or job.progress())
    if not as_json and somebody_is_there():
        away = {} if display is None else {"away": display.away}
        options.asker = TerminalAsker(project, options.events.mask_text, **away)
    folder, ending = run_session(session.begin, display)
    run = OpenRun(folder, ending, project)
    taken, problem = _taken(job, run, landing)
    if as_json:
        shown = dict(job.shown(run))
        print_json(shown | ({job.taken_as: taken and taken.to_json()} if job.taken_as else {}), indent=2)
    if job.has_result or not flags.quiet or (not as_json and ending.status is not RunStatus.COMPLETED):
        say_ending(job, run, landing, as_json=as_json)
    if taken is not None:
        (say if as_json else tell_line)(taken.said)
    if landing.markdown is not None:
        text = covered("".join(job.markdown(run)))
        write_whole(landing.markdown, text.encode("utf-8", "replace"))
    if problem is not None:
        raise problem
    sys.exit(exit_status(ending, job.completed(run) if ending.status is RunStatus.COMPLETED else 0))


def say_ending(job: Job, run: OpenRun, landing: LandingOptions, *, as_json: bool) -> None:
    """Print how a run ended: on standard output where that is free and it is a result, or well; else standard error."""
    well = run.status in (RunStatus.COMPLETED, RunStatus.PAUSED)
    out = tell_line if not as_json and (job.has_result or well) else say
    for line in job.ending(run, landing):
        out(line)


def tell_line(text: str) -> None:
    """Part of a result; the run's exit status counts, whether or not anybody still reads."""
    try:
        for line in text.split("\n"):
            tell(visible(line))
    except OSError:
        stdout_is_gone()


def _taken(job: Job, run: OpenRun, landing: LandingOptions) -> tuple[Taken | None, BakeoffError | None]:
    """Landing of the result: what was done with it; or what is wrong with that, to be said when the rest has been."""
    if not (landing.takes or landing.patch) or not job.made(run):
        return None, None
    try:
        if landing.patch is not None:
            from bakeoff.jobs.landing import diff_of, write_patch

            write_patch(landing.patch, diff_of(run.project, job.work(run, ()), False))
        if landing.takes:
            return job.land(run, (), landing, say), None
    except BakeoffError as failure:
        return None, failure
    return None, None
