"""The one stream of what happens in a run. Progress, logs, reports and hooks consume it and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bakeoff.engine.mask import Masker
from bakeoff.engine.record import Record, RunStatus
from bakeoff.errors import described


@dataclass(frozen=True, slots=True)
class RunChanged:
    """The run as a whole has a new status."""

    at: float
    run_id: str
    status: RunStatus
    error: str | None = None


@dataclass(frozen=True, slots=True)
class NodeStarted:
    """A node's work began, after it got its lanes. `place` numbers work going on at once, from 0."""

    at: float
    path: str
    type: str
    attempt: int = 1
    place: int = 0


@dataclass(frozen=True, slots=True)
class NodeEnded:
    """A node's record is committed; `reused` tells one kept from an earlier session of the run."""

    at: float
    record: Record
    reused: bool = False


@dataclass(frozen=True, slots=True)
class NodeRetried:
    """An attempt of a node failed and another follows after `delay` seconds."""

    at: float
    path: str
    attempt: int
    delay: float
    error: str


@dataclass(frozen=True, slots=True)
class NodeHeard:
    """Work that goes on has printed something: it is not stuck. At most one a second of each node.

    Attributes:
        facts: what it has told so far, where that is known (`events`, `tokens`).
    """

    at: float
    path: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FanOpened:
    """A fan-out knows its items. `bound` is the bound in force, `asked` what the caller asked for."""

    at: float
    path: str
    total: int
    bound: int
    asked: int


@dataclass(frozen=True, slots=True)
class GateOpened:
    """Somebody must decide."""

    at: float
    path: str
    message: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Warned:
    """Something a person should know; never a failure."""

    at: float
    text: str
    path: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class JobEvent:
    """Event that a job emits about itself; each job has its own. Consumers that do not know one pass it over.

    Attributes:
        at: wall-clock seconds since the epoch.
    """

    at: float


Event: TypeAlias = (
    RunChanged | NodeStarted | NodeEnded | NodeRetried | NodeHeard | FanOpened | GateOpened | Warned | JobEvent
)


class Events:
    """Hands each event to every consumer, in order. A consumer that raises is dropped, with a warning.

    Attributes:
        masker: keeps secrets out of what consumers show or write; the run sets it once it knows them.
    """

    def __init__(self) -> None:
        self._consumers: list[Callable[[Event], None]] = []
        self.masker = Masker()

    def mask_text(self, text: str) -> str:
        """`text` out of an event, with secrets replaced."""
        return self.masker.text(text)

    def subscribe(self, consumer: Callable[[Event], None]) -> None:
        """Add a consumer; it is called in the engine's thread and must return at once."""
        self._consumers.append(consumer)

    @property
    def heard(self) -> bool:
        """Whether anybody listens; makers of many events need not make them otherwise."""
        return bool(self._consumers)

    def emit(self, event: Event) -> None:
        """Hand `event` to every consumer."""
        for consumer in tuple(self._consumers):
            try:
                consumer(event)
            except Exception as failure:
                self._consumers.remove(consumer)
                self.emit(Warned(event.at, f"{consumer!r} failed and hears no more events: {described(failure)}"))
