"""A session of a run that starts agents and checks: under which conditions, with which protection, to its end."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.events import Events, Warned
from bakeoff.engine.history import History
from bakeoff.engine.lanes import Lanes
from bakeoff.engine.mask import Masker
from bakeoff.engine.record import RunStatus
from bakeoff.engine.run import Run
from bakeoff.engine.session import Ending, Terms, run_session
from bakeoff.engine.store import RunFolder, RunStore
from bakeoff.errors import BakeoffError
from bakeoff.process.spawner import Spawner
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings import Settings
from bakeoff.workspace.cache import check_roots
from bakeoff.workspace.sandbox.machine import this_machine
from bakeoff.workspace.sandbox.policy import agent_policy, check_policy
from bakeoff.workspace.sandbox.sandbox import granted
from bakeoff.workspace.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace

CarryOut = Callable[[Run, RunFolder, Spawner], Awaitable[Ending]]
"""What a job does in a session."""

CEILINGS = ("max_cost", "max_tokens", "max_calls")


@dataclass(slots=True)
class Conditions:
    """How a run is to be carried out, besides what is asked for.

    Attributes:
        max_parallel: leaves at once; None for the setting, in a run that is gone on with for what it was begun with.
        events: the stream of what happens.
        catch_signals: end in order on SIGINT, SIGTERM and SIGHUP.
        adopt: see `Spawner`; for command lines.
    """

    max_parallel: int | None = None
    events: Events = field(default_factory=Events)
    catch_signals: bool = True
    adopt: bool = False

    def resuming(self, history: History) -> Conditions:
        """The same for going on with a run."""
        return replace(self, max_parallel=self.max_parallel or history.meta.get("max_parallel"))

    def warn(self, text: str) -> None:
        """Tell something in words."""
        self.events.emit(Warned(SystemClock().wall(), text))


def new_run(store: RunStore, run_id: str | None, job: str, title: str, **kept: Any) -> tuple[RunFolder, dict[str, Any]]:
    """The folder of a new run, and what it keeps of itself: `kept` besides what all do.

    Passes on BakeoffError: the run id is taken, or none.
    """
    check_roots()
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


def resumable(store: RunStore, run_id: str, job: str, noun: str, *, ended: bool = False) -> tuple[RunFolder, History]:
    """The run, and its history, if a session of `job` may go on with it.

    Args:
        store: of the project's runs.
        run_id: which.
        job: whose runs can be gone on with here.
        noun: what a run of it is called.
        ended: whether one that is over may be gone on with, too.

    Raises:
        BakeoffError: it is another job's, or is over.

    Passes on RunBusyError: somebody runs it. RunNotFoundError and JournalError.
    """
    folder = store.open(run_id)
    history = folder.history()
    if history.meta.get("job") != job:
        raise BakeoffError(f"run {run_id} is {noun}")
    status, _ = folder.standing(history)
    if not ended and status in (RunStatus.COMPLETED, RunStatus.ABORTED):
        hint = ", but see `bakeoff plan retry`" if job == "plan" else ""
        raise BakeoffError(f"run {run_id} is {status}; it cannot be resumed{hint}")
    if folder.alive():
        folder.lock().release()  # says by whom it is run
    return folder, history


async def in_session(
    folder: RunFolder,
    carry_out: CarryOut,
    conditions: Conditions,
    lanes: Mapping[str, int],
    *,
    ceilings: Mapping[str, float] | None = None,
    meta: Mapping[str, Any] | None = None,
    prepare: Callable[[Run], Awaitable[None]] | None = None,
) -> Ending:
    """Carry a job out as the owner of `folder`; its processes end with the session. Arguments as for `run_session`."""
    base = {**os.environ, "BAKEOFF_RUN_ID": folder.id}
    masker = Masker()
    spawner = Spawner(token=str(folder.root), base_env=base, masker=masker, adopt=conditions.adopt)
    terms = Terms(
        lanes=Lanes(lanes),
        ceilings=ceilings or {},
        events=conditions.events,
        masker=masker,
        catch_signals=conditions.catch_signals,
        processes=spawner,
    )

    async def job(run: Run) -> Ending:
        async with spawner:
            ending = await carry_out(run, folder, spawner)
        return ending

    return await run_session(folder, job, terms, meta=meta, prepare=prepare)


async def check_protection(options: AttemptOptions, settings: Settings, *, agents: bool = True) -> None:
    """See that this machine gives the protection asked for, before anything is spent.

    Passes on SandboxError: it does not, or the settings ask for what cannot be.
    """
    machine = await this_machine()
    granted(check_policy(options.sandbox or settings.sandbox, settings), machine)
    if agents:
        granted(agent_policy((), options.agent_sandbox or settings.agent_sandbox), machine)


def snapshot_of(history: History) -> Snapshot | None:
    """What an earlier session of the run started from."""
    taken = history.decisions.get("snapshot")
    return None if taken is None else Snapshot(**{**taken, "left_out": ()})


async def settle_snapshot(run: Run, workspace: Workspace, conditions: Conditions, noun: str) -> None:
    """Put on record what all start from, and say what is missing there."""
    for text in workspace.lacking(noun):
        conditions.warn(text)
    await run.decide("snapshot", lambda: asdict(workspace.snapshot) | {"left_out": []})


async def note_inputs(run: Run, inputs: Mapping[str, Any], options: AttemptOptions) -> None:
    """Put ceilings on record that were changed for this session."""
    if inputs:
        await run.note("inputs", {name: getattr(options, name) for name in CEILINGS}).committed()
