"""Leaves: work that a step does itself, ready to be done by the engine under its lanes, retries and budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.engine.record import Outcome, Record
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.workflow.context import NodeContext


@dataclass(slots=True)
class Leaf:
    """Work that is ready to be done.

    Attributes:
        input: everything the result depends on, evaluated; shown to people and part of the step's key.
        timeout: seconds after which the engine cancels the work; None where the work sees to that itself.
        lanes: lanes the type takes on its own; None for work that only waits and holds none at all.
        reserve: budget for one try, by kind.
    """

    input: Mapping[str, Any]
    work: Callable[[int], Awaitable[Outcome]]
    timeout: float | None = None
    lanes: tuple[str, ...] | None = ()
    reserve: Mapping[str, float] = field(default_factory=dict)


async def do_leaf(context: NodeContext, leaf: Leaf, key: str) -> Record:
    """Do a leaf's work as the node that stands here; what its lanes, retries and budget mean is the engine's."""
    step = context.step
    return await context.run.leaf(
        context.path,
        step.type,
        leaf.work,
        key=key,
        lanes=None if leaf.lanes is None else (*leaf.lanes, *context.run_context.lanes, *lanes_of(step.lane)),
        retry=retry_of(step.retry),
        timeout=leaf.timeout,
        continue_on_error=step.continue_on_error,
        reserve=leaf.reserve,
        commit_queue=context.commit_queue,
    )


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
