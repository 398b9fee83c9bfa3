"""One session of a run: from taking its lock to writing how it ended, whatever interrupts it in between."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import anyio

from bakeoff.engine.budget import Budget
from bakeoff.engine.clock import Clock, SteadyClock, SystemClock
from bakeoff.engine.control import control_server
from bakeoff.engine.events import Events, RunChanged, Warned
from bakeoff.engine.history import History, encode
from bakeoff.engine.journal import SqliteJournal
from bakeoff.engine.killing import Kills, session_kills
from bakeoff.engine.lanes import Lanes
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.salvage import lost_tail, rebuild
from bakeoff.engine.slow import telling_by
from bakeoff.engine.store import RunFolder
from bakeoff.errors import (
    BakeoffError,
    BudgetSpentError,
    JournalError,
    described,
    text_of,
    the_failure,
    told_by_system,
)

SAME_SIGNAL = 0.2
"""Seconds within which another signal means the same: `timeout` signals its command, then that one's group."""


@dataclass(slots=True)
class Ending:
    """Ending of a session of a run.

    Attributes:
        status: the run's status now.
        error: why, when it is not completed.
        facts: what else the job wants on the record (where it stopped, the gate it waits at, ...).
        signal: number of the signal that interrupted it.
    """

    status: RunStatus
    error: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    signal: int | None = None


class Killable(Protocol):
    """Something that can be told to end its processes without grace."""

    def kill_now(self) -> None:
        """End everything now."""
        ...


@dataclass(slots=True)
class SessionConfig:
    """Configuration that a session runs under.

    Attributes:
        lanes: capacities of this process.
        ceilings: budget by kind (`usd`, `tokens`, `calls`).
        seconds: ceiling on the run's active time, all sessions together.
        events: the stream of what happens.
        masker: keeps secrets out of what is written.
        clock: see `Clock`.
        catch_signals: end in order on SIGINT, SIGTERM and SIGHUP (main thread only).
        processes: told to kill at once on a second Ctrl-C or TERM.
    """

    lanes: Lanes
    ceilings: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    events: Events = field(default_factory=Events)
    masker: Masker = field(default_factory=Masker)
    clock: Clock = field(default_factory=SystemClock)
    catch_signals: bool = True
    processes: Killable | None = None


Job = Callable[[Run], Awaitable[Ending]]


@dataclass(slots=True)
class _Stop:
    """Why the job was cancelled from outside, the first reason given."""

    scope: anyio.CancelScope
    status: RunStatus | None = None
    error: str | None = None
    signal: int | None = None

    def __call__(self, status: RunStatus, error: str, signal: int | None = None) -> None:
        if self.status is None:
            self.status, self.error, self.signal = status, error, signal
        self.scope.cancel()


async def run_session(
    folder: RunFolder,
    job: Job,
    config: SessionConfig,
    *,
    meta: Mapping[str, Any] | None = None,
    prepare: Callable[[Run], Awaitable[None]] | None = None,
) -> Ending:
    """Run `job` as the owner of `folder`, and write how it ended.

    Args:
        folder: the run.
        job: what to do; returns how it ended. Cancelled on a signal, `cancel`, or the time budget.
        config: see `SessionConfig`.
        meta: what the run is, for a new one.
        prepare: called before the job, for entries of its own (new inputs, an edit).

    Passes on RunBusyError (another process owns the run) and JournalError (it cannot be written; the status stays
    what it was, and what was committed before is safe).
    """
    config.events.masker = config.masker
    lock = folder.lock()
    try:
        warnings = [] if meta is not None else _mend(folder)
        history = History(folder.root) if meta is not None else folder.history()
        history.interrupt()
        warnings += _damage(history)
        config = replace(config, clock=SteadyClock(config.clock, history.updated_at))
        journal = SqliteJournal(folder.journal)
        try:
            run = _run(folder, journal, history, config)
            if meta is not None:
                run.note("meta", meta)
            if prepare is not None:
                await prepare(run)
            await _announce(run, config, warnings)
            return await _carried_out(folder, run, job, config)
        finally:
            journal.close()
    finally:
        lock.release()


async def _carried_out(folder: RunFolder, run: Run, job: Job, config: SessionConfig) -> Ending:
    """The job, with its ending written; also when whoever awaits it is cancelled."""
    since = config.clock.monotonic()
    ending = Ending(RunStatus.PAUSED, "interrupted: its caller was cancelled")
    try:
        ending = _masked(await _attended(folder, run, job, config), config.masker)
    except Exception as raised:
        bug: BaseException = raised
        while isinstance(bug, BaseExceptionGroup) and len(bug.exceptions) == 1:
            bug = bug.exceptions[0]
        ending = Ending(RunStatus.FAILED, told_by_system(bug) or described(bug))
        raise
    finally:
        with anyio.CancelScope(shield=True):
            await _write_ending(run, ending, round(config.clock.monotonic() - since, 3))
    return ending


def _masked(ending: Ending, masker: Masker) -> Ending:
    """An ending as others may see it."""
    if not masker.forms:
        return ending
    error = None if ending.error is None else masker.text(ending.error)
    return replace(ending, error=error, facts=json.loads(masker.text(encode(ending.facts))))


def _mend(folder: RunFolder) -> list[str]:
    warnings = []
    if lost_tail(folder.journal):
        warnings.append(
            "the end of the journal's write-ahead log cannot be read (damaged, or cut off while it was written): "
            "what was committed there last counts as not done"
        )
    if kept := rebuild(folder.journal):
        warnings.append(f"the journal was damaged and was rebuilt from what could be read; the old one is {kept}")
    return warnings


def _damage(history: History) -> list[str]:
    if not history.damaged:
        return []
    numbers = ", ".join(map(str, history.damaged[:10])) + (", ..." if len(history.damaged) > 10 else "")
    return [f"journal entries that cannot be read count as not done: {numbers}"]


def _run(folder: RunFolder, journal: SqliteJournal, history: History, config: SessionConfig) -> Run:
    return Run(
        journal=journal,
        history=history,
        root=folder.root,
        lanes=config.lanes,
        budget=Budget(config.ceilings, history.spent),
        events=config.events,
        masker=config.masker,
        clock=config.clock,
    )


async def _announce(run: Run, config: SessionConfig, warnings: list[str]) -> None:
    now = config.clock.wall()
    lost = {"lost": run.history.damaged} if run.history.damaged else {}
    await run.note("run", {"status": RunStatus.RUNNING, "at": now, **lost}).committed()
    config.events.emit(RunChanged(now, run.root.name, RunStatus.RUNNING))
    for text in warnings:
        config.events.emit(Warned(now, text))


async def _attended(folder: RunFolder, run: Run, job: Job, config: SessionConfig) -> Ending:
    """The job, with somebody listening to signals, the control channel and the clock."""
    ending: Ending | None = None
    async with anyio.create_task_group() as watchers:
        with session_kills() as kills, anyio.CancelScope() as scope:
            stop = _Stop(scope)
            if config.catch_signals:
                await watchers.start(_watch_signals, stop, config, kills)
            if config.seconds is not None:
                watchers.start_soon(_watch_time, stop, config.seconds - run.history.active_seconds)
            async with control_server(folder.root, lambda message: _handle(run, stop, message)):
                with telling_by(config.events, config.clock.wall):
                    ending = await _ended(run, job)
        watchers.cancel_scope.cancel()
    if stop.status is not None and (ending is None or ending.status is not RunStatus.COMPLETED):
        return Ending(stop.status, stop.error, dict(ending.facts) if ending else {}, stop.signal)
    assert ending is not None
    return ending


async def _ended(run: Run, job: Job) -> Ending:
    """Ending of the job; a failure that is meant for people is an ending like another.

    Passes on JournalError: nothing more can be written, not even how it ended.
    """
    try:
        return await job(run)
    except Exception as raised:
        failure = the_failure(raised)
        if failure is None:
            raise
        if isinstance(failure, JournalError):
            raise failure from raised
        status = RunStatus.BUDGET_SPENT if isinstance(failure, BudgetSpentError) else RunStatus.FAILED
        return Ending(status, text_of(failure))


async def _watch_signals(
    stop: _Stop, config: SessionConfig, kills: Kills, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    # What was ignored on entry stays so: `nohup` and shells that start jobs in the background mean it.
    known = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heard = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]
    first = math.inf
    with anyio.open_signal_receiver(*heard) as signals:
        task_status.started()
        async for number in signals:
            # A terminal that closes sends HUP more than once, and nobody is in a hurry.
            if number != signal.SIGHUP and anyio.current_time() - first >= SAME_SIGNAL:
                kills.kill_now()
                if config.processes is not None:
                    config.processes.kill_now()
            first = min(first, anyio.current_time())
            name = signal.Signals(number).name
            stop(RunStatus.PAUSED, f"interrupted by {name}", number)


async def _watch_time(stop: _Stop, seconds: float) -> None:
    await anyio.sleep(max(0.0, seconds))
    stop(RunStatus.BUDGET_SPENT, "the budget is spent: the run's time is up")


async def _handle(run: Run, stop: _Stop, message: Mapping[str, Any]) -> Mapping[str, Any]:
    match message["do"]:
        case "cancel":
            stop(RunStatus.CANCELLED, "cancelled by `bakeoff cancel`")
            return {"ok": True}
        case "answer":
            await run.answer(str(message["path"]), str(message["choice"]))
            return {"ok": True}
        case "gates":
            return {"gates": {path: list(options) for path, options in run.gates.items()}}
        case unknown:
            raise BakeoffError(f"the run does not understand {unknown!r}")


async def _write_ending(run: Run, ending: Ending, seconds: float) -> None:
    now = run.clock.wall()
    body = {"status": ending.status, "error": ending.error, "at": now, "seconds": seconds, **ending.facts}
    await run.note("run", body).committed()
    run.events.emit(RunChanged(now, run.root.name, ending.status, ending.error))
