"""`bakeoff watch`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from bakeoff.cli.completing import RUN
from bakeoff.cli.options import QUIET_STEPS

if TYPE_CHECKING:
    from bakeoff.engine.events import Event
    from bakeoff.engine.store import RunFolder

EVERY = 0.1
"""Seconds between two looks at the journal."""


@click.command("watch")
@click.argument("run", required=False, type=RUN)
@click.option("--json", "as_json", is_flag=True, help="Print what happens as JSON Lines.")
@QUIET_STEPS
def command(run: str | None, as_json: bool, quiet: bool) -> None:
    """Follow RUN, or the latest run, until it ends, as its own terminal shows it.

    Exit status: as for `run`. Ctrl-C ends the watching, not the run.
    """
    import sys

    from bakeoff.cli.carry_out import say_ending
    from bakeoff.cli.display import Display, run_session
    from bakeoff.cli.run_lookup import open_run
    from bakeoff.engine.events import Events
    from bakeoff.engine.record import RunStatus
    from bakeoff.jobs.job import Job, OpenRun, job_called
    from bakeoff.jobs.landing_options import LandingOptions
    from bakeoff.jobs.outcome import EXIT
    from bakeoff.report.overview import overview

    folder = open_run(run)
    events, display = Events(), None
    tell: Callable[[Event], None] = print_event if as_json else events.emit
    if not quiet and not as_json:
        job = job_called(overview(folder).job)
        display, tell = Display(events, job.progress()), job.followed(folder, tell)
    run_session(lambda: follow(folder, tell), display)
    status = OpenRun(folder).overview.status
    assert status is not None
    if not as_json and not (quiet and status is RunStatus.COMPLETED):
        say_ending(Job(), OpenRun(folder), LandingOptions(), as_json=False)
    sys.exit(EXIT[status])


async def follow(folder: RunFolder, tell: Callable[[Event], None]) -> None:
    """Hand on what happens until nobody runs the run any more.

    Passes on JournalError: the journal cannot be followed.
    """
    import anyio

    from bakeoff.cli.follow import Follower

    follower = Follower(folder)
    while True:
        # In this order: what is written before the owner lets go is read after it was seen to have gone.
        live = folder.alive()
        for event in follower.events():
            tell(event)
        if not live:
            return
        for gate in follower.gates():
            tell(gate)
        await anyio.sleep(EVERY)


def print_event(event: Event) -> None:
    """One event as a line of JSON."""
    from bakeoff.cli.output import print_json

    print_json(event_line(event))


def event_line(event: Event) -> dict[str, Any]:
    """An event as `watch --json` prints it, without what the journal does not tell (some times and types).

    Raises:
        AssertionError: the journal tells of no such event.
    """
    from bakeoff.engine.events import FanOpened, GateOpened, NodeEnded, NodeRetried, NodeStarted, RunChanged

    shown: dict[str, Any]
    match event:
        case RunChanged(at, run_id, status, error):
            return {"event": "run_changed", "at": at, "run_id": run_id, "status": status, "error": error}
        case NodeStarted(at, path, type_, attempt, place):
            shown = {"event": "node_started", "at": at, "path": path, "attempt": attempt, "place": place}
            return shown | ({"type": type_} if type_ else {})
        case NodeEnded(at, record, reused):
            shown = {"event": "node_ended", "at": at, "path": record.path, "type": record.type}
            shown |= {"status": record.status.value, "error": record.error, "attempts": record.attempts}
            return shown | {"seconds": round(record.ended_at - record.started_at, 6), "reused": reused}
        case NodeRetried(at, path, attempt, _, error):
            return {"event": "node_retried", "at": at, "path": path, "attempt": attempt, "error": error}
        case FanOpened(at, path, total):
            return {"event": "fan_opened", "path": path, "total": total} | ({"at": at} if at else {})
        case GateOpened(at, path, _, options):
            return {"event": "gate_opened", "path": path, "options": list(options)} | ({"at": at} if at else {})
    raise AssertionError(event)
