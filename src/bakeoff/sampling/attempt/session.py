"""Sessions of agents and checks: the protection asked for, the snapshot that all start from, changed ceilings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.run import Run
from bakeoff.jobs.session import RunOptions
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.settings import Settings
from bakeoff.workspace.sandbox.machine import this_machine
from bakeoff.workspace.sandbox.policy import agent_policy, check_policy
from bakeoff.workspace.sandbox.sandbox import granted
from bakeoff.workspace.snapshot.snapshot import Snapshot
from bakeoff.workspace.workspace import Workspace

CEILINGS = ("max_cost", "max_tokens", "max_calls")


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


async def settle_snapshot(run: Run, workspace: Workspace, options: RunOptions, noun: str) -> None:
    """Put on record what all start from, and say what is missing there."""
    for text in workspace.lacking(noun):
        options.warn(text)
    await run.decide("snapshot", lambda: asdict(workspace.snapshot) | {"left_out": []})


async def note_inputs(run: Run, inputs: Mapping[str, Any], options: AttemptOptions) -> None:
    """Put ceilings on record that were changed for this session."""
    if inputs:
        await run.note("inputs", {name: getattr(options, name) for name in CEILINGS}).committed()
