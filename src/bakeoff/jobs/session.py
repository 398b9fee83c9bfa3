"""Session of a run of any job: how it is carried out, its folder, and one owner of it from lock to ending."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.events import Events, Warned
from bakeoff.engine.history import History
from bakeoff.engine.lanes import Lanes
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending, SessionConfig, run_session
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.jobs.options import CEILINGS
from bakeoff.process.spawner import Spawner

if TYPE_CHECKING:
    from bakeoff.settings import Settings
    from bakeoff.workspace.snapshot.snapshot import Snapshot
    from bakeoff.workspace.workspace import Workspace

CarryOut = Callable[[Run, RunFolder, Spawner], Awaitable[Ending]]
"""What a job does in a session."""

Prepare = Callable[[Run], Awaitable[None]]
"""Writes to the journal before that begins."""


class Asker(Protocol):
    """Puts a gate to somebody who is there."""

    async def ask(self, path: str, message: str, options: Sequence[str], show: str | None) -> str | None:
        """The option chosen; None when nobody can say now. Cancelled, it stops asking."""
        ...


@dataclass(slots=True)
class RunOptions:
    """Options of carrying a run out, besides what its job is asked for.

    Attributes:
        max_parallel: leaves at once; None for the setting, in a run that is gone on with for what it was begun with.
        events: the stream of what happens.
        catch_signals: end in order on SIGINT, SIGTERM and SIGHUP.
        asker: somebody at a terminal who can decide gates.
        adopt: leave no orphan even if the supervisor dies; concerns the whole process, so for command lines.
    """

    max_parallel: int | None = None
    events: Events = field(default_factory=Events)
    catch_signals: bool = True
    adopt: bool = False
    asker: Asker | None = None

    def resuming(self, history: History) -> Self:
        """The same for going on with a run."""
        return replace(self, max_parallel=self.max_parallel or history.meta.get("max_parallel"))

    def warn(self, text: str) -> None:
        """Tell something in words."""
        self.events.emit(Warned(SystemClock().wall(), text))


def new_run(store: RunStore, run_id: str | None, job: str, title: str, **kept: Any) -> tuple[RunFolder, dict[str, Any]]:
    """The folder of a new run, and what it keeps of itself: `kept` besides what all do.

    Passes on BakeoffError: the run id is taken, or none.
    """
    folder = store.create(run_id or store.new_id())
    folder.logs.mkdir()
    meta = {
        "run_id": folder.id,
        "job": job,
        "workflow_id": None,
        "name": title[:100],
        "project": str(store.project),
        "created_at": SystemClock().wall(),
    }
    return folder, {**meta, **kept}


def resumable(
    store: RunStore, run_id: str, job: str, noun: str, *, ended: bool = False, hint: str = ""
) -> tuple[RunFolder, History]:
    """The run, and its history, if a session of `job` may go on with it.

    Args:
        store: of the project's runs.
        run_id: which.
        job: whose runs can be gone on with here.
        noun: what a run of it is called.
        ended: whether one that is over may be gone on with, too.
        hint: said of one that is over.

    Raises:
        BakeoffError: it is another job's, or is over.

    Passes on RunBusyError: somebody runs it. RunNotFoundError and JournalError.
    """
    folder = store.open(run_id)
    history = folder.history()
    if history.meta.get("job") != job:
        raise BakeoffError(f"run {run_id} is {noun}")
    status, _ = folder.status_and_error(history)
    if not ended and status in (RunStatus.COMPLETED, RunStatus.ABORTED):
        raise BakeoffError(f"run {run_id} is {status}; it cannot be resumed{hint}")
    if folder.alive():
        folder.lock().release()  # says by whom it is run
    return folder, history


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options of one session.

    Attributes:
        lanes: capacities by name.
        ceilings: the budget, by kind.
        seconds: of working, over all sessions, at most.
        secrets: values to be masked, by name.
        env: further variables of all processes.
    """

    lanes: Mapping[str, int]
    ceilings: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


async def in_session(
    folder: RunFolder,
    carry_out: CarryOut,
    options: RunOptions,
    session: SessionOptions,
    *,
    meta: Mapping[str, Any] | None = None,
    prepare: Prepare | None = None,
) -> Ending:
    """Carry a job out as the owner of `folder`; its processes end with the session, however that ends.

    Args:
        folder: the run's.
        carry_out: the job.
        options: of the run.
        session: of this stretch of it.
        meta: what a new run keeps of itself; None for one that is gone on with.
        prepare: writes before the job begins.

    Passes on what `run_session` raises.
    """
    base = {**os.environ, **session.env, "BAKEOFF_RUN_ID": folder.id}
    masker = Masker(session.secrets)
    spawner = Spawner(token=str(folder.root), base_env=base, masker=masker, adopt=options.adopt)
    config = SessionConfig(
        lanes=Lanes(session.lanes),
        ceilings=session.ceilings,
        seconds=session.seconds,
        events=options.events,
        masker=masker,
        catch_signals=options.catch_signals,
        processes=spawner,
    )

    async def job(run: Run) -> Ending:
        async with spawner:
            ending = await carry_out(run, folder, spawner)
        return ending

    return await run_session(folder, job, config, meta=meta, prepare=prepare)


def snapshot_of(history: History) -> Snapshot | None:
    """The snapshot that an earlier session of the run started from."""
    from bakeoff.workspace.snapshot.snapshot import Snapshot

    taken = history.decisions.get("snapshot")
    return None if taken is None else Snapshot(**{**taken, "left_out": ()})


async def settle_snapshot(run: Run, workspace: Workspace, options: RunOptions, noun: str = "slots") -> None:
    """Put on record the snapshot that all start from, and say what it lacks, as messages about `noun`."""
    for text in workspace.lacking(noun):
        options.warn(text)
    await run.decide("snapshot", lambda: asdict(workspace.snapshot) | {"left_out": []})


async def note_inputs(run: Run, inputs: Mapping[str, Any], options: object, names: Sequence[str] = CEILINGS) -> None:
    """Put those of a job's options on record that inputs may change, if this session was given any."""
    if inputs:
        await run.note("inputs", {name: getattr(options, name) for name in names}).committed()


async def check_protection(
    settings: Settings, checks: str | None, agents: str | None = None, *, has_agents: bool = True
) -> None:
    """See that this machine gives the protection asked for, before anything is spent.

    Args:
        settings: the project's; they count where no level is asked for.
        checks: level for checks.
        agents: level for agents.
        has_agents: whether there are any.

    Passes on SandboxError: it does not, or the settings ask for what cannot be.
    """
    from bakeoff.workspace.sandbox.machine import this_machine
    from bakeoff.workspace.sandbox.policy import agent_policy, check_policy
    from bakeoff.workspace.sandbox.sandbox import granted

    machine = await this_machine()
    granted(check_policy(checks or settings.sandbox, settings), machine)
    if has_agents:
        granted(agent_policy((), agents or settings.agent_sandbox), machine)
