"""Events of sampling, on the run's stream, and the hooks that are awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.events import Events, JobEvent
from bakeoff.sampling.result import Attempt, SamplingResult

HOOK_GRACE = 5.0
"""Seconds that hooks have for the end of sampling that was cancelled."""

_WRITABLE = frozenset({"loop_budget", "concurrency_budget"})


@dataclass(slots=True)
class SamplingStarted(JobEvent):
    """Before the first attempt. `loop_budget` and `concurrency_budget` may be changed; nothing else can be."""

    sampling_id: str
    strategy: str
    requirements: tuple[str, ...]
    loop_budget: int
    concurrency_budget: int
    _sealed: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._sealed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_sealed", False) and name not in _WRITABLE:
            raise AttributeError(f"a hook may change {' and '.join(sorted(_WRITABLE))}, not {name}")
        object.__setattr__(self, name, value)


@dataclass(slots=True)
class AttemptEnded(JobEvent):
    """An attempt was completed: judged, or an error."""

    sampling_id: str
    attempt: Attempt


@dataclass(slots=True)
class Repaired(JobEvent):
    """An attempt failed, and the next one in its lane builds on it. `kind`: `template` or `conversation`."""

    sampling_id: str
    kind: str
    failed: Attempt
    next_id: int
    feedback: str


@dataclass(slots=True)
class SamplingEnded(JobEvent):
    """After the last attempt, once, however it ended: `result`, or `error` (what was raised, a cancellation too)."""

    sampling_id: str
    success: bool
    iterations_used: int
    reason: str
    result: SamplingResult | None = None
    error: BaseException | None = None


SamplingEvent: TypeAlias = SamplingStarted | AttemptEnded | Repaired | SamplingEnded
Hook = Callable[[Any], Awaitable[None]]


class Announcer:
    """Tells consumers of the stream, which never delay anything, and hooks, which asked to be waited for."""

    def __init__(self, events: Events, hooks: Iterable[Hook]) -> None:
        self.events = events
        self.hooks = tuple(hooks)
        self.heard = bool(self.hooks) or events.heard
        self.now = SystemClock.wall

    async def tell(self, event: SamplingEvent) -> None:
        """Tell everybody. What a hook raises ends the sampling."""
        self.events.emit(event)
        for hook in self.hooks:
            await hook(event)

    async def tell_end(self, event: SamplingEnded) -> None:
        """The same when the sampling may have been cancelled."""
        with anyio.move_on_after(HOOK_GRACE, shield=True):
            await self.tell(event)
