"""How a step that does work itself is run: found again, or evaluated, given its lanes, done and recorded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.workflow.interpreter import Halt, Place, halted_by
from bakeoff.workflow.step_models import UNSUPPORTED, Unsupported


@dataclass(slots=True)
class Leaf:
    """Work that is ready to be done.

    Attributes:
        input: everything the result depends on, evaluated; shown to people and part of the step's key.
        work: see `bakeoff.engine.run.Work`.
        timeout: seconds after which the engine cancels the work; None where the work sees to that itself.
        lanes: lanes the type takes on its own; None for work that only waits and holds none at all.
        reserve: budget for one try, by kind.
    """

    input: Mapping[str, Any]
    work: Callable[[int], Awaitable[Outcome]]
    timeout: float | None = None
    lanes: tuple[str, ...] | None = ()
    reserve: Mapping[str, float] = field(default_factory=dict)


async def run_leaf(place: Place) -> Halt | None:
    """Run a leaf step, unless its result is there already.

    Passes on ExpressionError: a field cannot be evaluated; the step leaves no record then.
    """
    from bakeoff.workflow.steps import fan_in

    record = await place.run.kept(place.path)
    if record is None:
        record = await _do(place)
    place.scope.follow(record.key)
    place.add(fan_in.with_results(place, record) if place.step.type == "fan-in" else record)
    return halted_by(place, record)


async def _do(place: Place) -> Record:
    if place.step.workspace is not None:
        from bakeoff.workflow.steps.in_slot import in_slot

        return await in_slot(place)
    leaf = prepare(place)
    return await do_leaf(place, leaf, place.key(leaf.input))


async def do_leaf(place: Place, leaf: Leaf, key: str) -> Record:
    """Do a leaf's work as the node that stands here; what its lanes, retries and budget mean is the engine's."""
    step = place.step
    return await place.run.leaf(
        place.path,
        step.type,
        leaf.work,
        key=key,
        lanes=None if leaf.lanes is None else (*leaf.lanes, *place.setting.lanes, *lanes_of(step.lane)),
        retry=retry_of(step.retry),
        timeout=leaf.timeout,
        absorb=step.continue_on_error,
        reserve=leaf.reserve,
        backlog=place.backlog,
    )


def prepare(place: Place) -> Leaf:
    """The work of a step, by its type.

    Passes on ExpressionError: a field cannot be evaluated.
    """
    from bakeoff.workflow.steps import custom, fan_in, gate, shell

    match place.step.type:
        case "shell":
            return shell.prepare(place)
        case "fan-in":
            return fan_in.prepare(place)
        case "gate":
            return gate.prepare(place)
        case "slot":
            return fan_in.prepare_slot(place)
        case "command" | "prompt":
            from bakeoff.workflow.steps import agent

            return agent.prepare(place)
        case name if name in UNSUPPORTED and isinstance(place.step, Unsupported):
            return _unsupported(name)
        case _:
            return custom.prepare(place)


def _unsupported(name: str) -> Leaf:
    async def work(_: int) -> Outcome:
        said = f"steps of type `{name}` are not supported; {UNSUPPORTED[name]}"
        return Outcome(Status.FAILED, error=said, kind="unsupported")

    return Leaf({"type": name}, work)


def lanes_of(lane: str | list[str] | None) -> tuple[str, ...]:
    """The lanes that a step names."""
    return () if lane is None else (lane,) if isinstance(lane, str) else tuple(lane)


def retry_of(retry: Any) -> Retry:
    """The engine's policy for a step's `retry:`."""
    if retry is None:
        return ONCE
    return Retry(
        attempts=retry.attempts,
        delay=retry.delay,
        backoff=retry.backoff,
        max_delay=retry.max_delay,
        jitter=retry.jitter,
        on=tuple(retry.on or ()),
    )
