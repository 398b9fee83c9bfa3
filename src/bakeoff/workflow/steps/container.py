"""What every step that holds others has in common: its settings are theirs too, its time and tries cover them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from bakeoff.engine.events import NodeRetried
from bakeoff.engine.record import RunStatus, Status
from bakeoff.workflow.context import Halt, Place
from bakeoff.workflow.scope import digest
from bakeoff.workflow.step_models import BUILT_IN
from bakeoff.workflow.steps.leaf import lanes_of, retry_of
from bakeoff.workflow.steps.shell import environment_given, working_directory


async def run_container(place: Place, container: Callable[[Place], Awaitable[Halt | None]]) -> Halt | None:
    """Run a step that holds others, within its `timeout`, again as its `retry` says.

    A further try keeps what has ended well and runs the rest, as a resumed run does.
    """
    step, run = place.step, place.run
    if (found := run.find(place.path)) is not None and found[0].absorbed and found[0].kind == "timeout":
        place.scope.follow("timeout")
        place.add(found[0])
        return None
    _inherit(place)
    before = place.scope.chain
    own = getattr(place.setting.step_types.custom(step.type), "retries", False) if step.type not in BUILT_IN else False
    delays = retry_of(None if own else step.retry).delays(run.random)
    attempt = 1
    while True:
        place.scope.chain = digest("independent") if step.independent else before
        halt = await _timed(place, container)
        delay = next(delays, None) if halt is not None and _retried(halt, place) else None
        if delay is None:
            break
        assert halt is not None
        attempt += 1
        run.events.emit(NodeRetried(run.clock.wall(), place.path, attempt, delay, run.masker.text(halt.error or "")))
        await anyio.sleep(delay)
    if step.independent:
        place.scope.chain = digest(before, place.scope.chain)
    return halt


def _inherit(place: Place) -> None:
    """Let `env`, `cwd` and `lane` of the step hold for all that it holds."""
    step, setting = place.step, place.setting
    if step.env is None and step.cwd is None and step.lane is None:
        return
    environment = {**setting.environment, **environment_given(place)} if step.env else setting.environment
    place.setting = replace(
        setting,
        environment=environment,
        cwd=working_directory(place),
        lanes=(*setting.lanes, *lanes_of(step.lane)),
    )


def _retried(halt: Halt, place: Place) -> bool:
    if halt.status is not RunStatus.FAILED or halt.raised or place.step.retry is None:
        return False
    on = place.step.retry.on
    return not on or halt.kind in on


async def _timed(place: Place, container: Callable[[Place], Awaitable[Halt | None]]) -> Halt | None:
    """The step within its time; what it holds is cancelled when that is up, and what had ended is kept."""
    step = place.step
    if step.timeout is None:
        return await container(place)
    started, before = place.run.clock.wall(), place.scope.chain
    with anyio.move_on_after(step.timeout):
        return await container(place)
    place.scope.chain = digest(before, "timeout")
    error = f"timed out after {step.timeout:g} s"
    record = await place.ended(
        started, {"timed_out": True}, status=Status.FAILED, error=error, kind="timeout", absorbed=step.continue_on_error
    )
    return (
        None if record.absorbed else Halt(RunStatus.FAILED, f"step {place.path}: {error}", place.path, kind="timeout")
    )
