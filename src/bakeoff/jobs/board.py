"""Board of a run of steps, kept up to date by its events: a line for each step, counts for a fan-out's items."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from bakeoff.engine.events import (
    Event,
    FanOpened,
    GateOpened,
    NodeEnded,
    NodeHeard,
    NodeRetried,
    NodeStarted,
    RunChanged,
)
from bakeoff.engine.record import RunStatus, Status
from bakeoff.report.outline import halted, name_of, parent_of

MOST_LINES = 300
"""Lines kept; of more, the oldest that have ended are only counted."""

EARLY = ("if", "switch")
"""Types whose record says what was chosen, and is there before the work."""

HOLDERS = (*EARLY, "while", "do-while", "fan-out", "parallel", "workflow", "attempt", "sample", "optimize", "plan",
           "subplan", "try")  # fmt: skip
"""Types that hold others and do no work themselves."""


@dataclass(slots=True)
class Fan:
    """The items of one fan-out, counted.

    Attributes:
        bound: how many may run at once; 0 where nobody said.
        early: its items' own records come before their work (`if`, `switch`).
        waiting: gates in it that wait, each with the item it is in.
        open: items that are being worked on, with the number of their leaves under way.
        stopped: items that did not get through although they have no record that says so.
        reused: items that an earlier session had done.
    """

    total: int
    bound: int
    ended: dict[Status, int] = field(default_factory=dict)
    early: bool = False
    waiting: dict[str, str] = field(default_factory=dict)
    open: dict[str, int] = field(default_factory=dict)
    stopped: dict[str, Status] = field(default_factory=dict)
    reused: int = 0

    @property
    def done(self) -> int:
        """Items that ended well, or were left out."""
        ended = self.ended.get(Status.COMPLETED, 0) + self.ended.get(Status.SKIPPED, 0)
        return ended - self._undone if self.early else ended

    @property
    def failed(self) -> int:
        """Items that failed."""
        return self.ended.get(Status.FAILED, 0) + sum(status is Status.FAILED for status in self.stopped.values())

    @property
    def running(self) -> int:
        """Items that are worked on, however many leaves of theirs are under way."""
        return len(self.open.keys() - self.stopped.keys() - set(self.waiting.values()))

    @property
    def paused(self) -> int:
        """Items that wait for an answer."""
        paused = [item for item, status in self.stopped.items() if status is Status.PAUSED]
        return len({*paused, *self.waiting.values()})

    @property
    def left(self) -> int:
        """Items that neither ended nor run."""
        ended = sum(self.ended.values())
        return max(0, self.total - ended - (0 if self.early else self._undone))

    @property
    def _undone(self) -> int:
        """Items under way, waiting or stopped."""
        return len(self.open.keys() | self.stopped.keys())


@dataclass(slots=True)
class Line:
    """One step.

    Attributes:
        began: monotonic seconds.
        seconds: how long it took, once it has ended.
    """

    path: str
    name: str
    depth: int
    type: str
    status: Status
    began: float
    seconds: float | None = None
    error: str | None = None
    attempt: int = 1
    reused: bool = False
    fan: Fan | None = None
    halted: bool = False
    heard: NodeHeard | None = None


@dataclass(slots=True)
class Gate:
    """Somebody must decide."""

    path: str
    message: str
    options: tuple[str, ...]


class Board:
    """The state of a display. Memory does not grow with the items of a fan-out."""

    def __init__(self) -> None:
        self.run_id = ""
        self.status = RunStatus.CREATED
        self.error: str | None = None
        self.began = time.monotonic()
        self.lines: OrderedDict[str, Line] = OrderedDict()
        self.dropped = 0
        self.gates: dict[str, Gate] = {}
        self._inside: tuple[str, ...] = ()
        self._fans: dict[str, Fan] = {}

    def __call__(self, event: Event) -> None:
        """Take in an event."""
        match event:
            case NodeStarted():
                self._started(event)
            case NodeEnded():
                self._ended(event)
            case NodeRetried():
                self._retried(event)
            case NodeHeard() if (line := self.lines.get(event.path)) is not None:
                line.heard = event
            case FanOpened():
                self._opened(event)
            case GateOpened():
                self.gates[event.path] = Gate(event.path, event.message, event.options)
                fan = self.fan_of(event.path)
                if fan is not None and event.path not in fan.waiting:
                    fan.waiting[event.path] = self.item_of(event.path)
            case RunChanged():
                self.run_id, self.status, self.error = event.run_id, event.status, event.error

    def fan_of(self, path: str) -> Fan | None:
        """The outermost fan-out that the node at `path` is inside of."""
        if not self._inside or not path.startswith(self._inside):
            return None
        return next(fan for prefix, fan in self._fans.items() if path.startswith(prefix))

    def item_of(self, path: str) -> str:
        """The item that the node is or stands in, of the outermost fan-out it is inside of."""
        prefix = next(prefix for prefix in self._inside if path.startswith(prefix))
        template, _, rest = path[len(prefix) :].partition(":")
        return f"{prefix}{template}:{rest.partition('/')[0].partition(':')[0]}"

    def is_parallel(self, path: str) -> bool:
        """Whether the node opens named branches, whose steps have lines of their own."""
        line = self.lines.get(path)
        return line is not None and line.type == "parallel"

    def _started(self, event: NodeStarted) -> None:
        fan = self.fan_of(event.path)
        if fan is not None:
            item = self.item_of(event.path)
            fan.stopped.pop(item, None)
            if event.type not in HOLDERS:
                fan.open[item] = fan.open.get(item, 0) + 1
            elif not fan.early and event.type not in EARLY:
                fan.open.setdefault(item, 0)
            return
        line = self._line(event.path, event.type)
        line.status, line.attempt, line.error, line.seconds = Status.RUNNING, event.attempt, None, None
        line.began, line.halted, line.heard = time.monotonic(), False, None

    def _ended(self, event: NodeEnded) -> None:
        record = event.record
        if record.status is not Status.PAUSED:
            self.gates.pop(record.path, None)
        fan = self.fan_of(record.path)
        if fan is not None:
            self._ended_inside(fan, event)
            return
        line = self._line(record.path, record.type)
        line.status, line.error, line.attempt = record.status, record.error, record.attempts
        line.halted = halted(record)
        line.reused = event.reused or (line.fan is not None and 0 < line.fan.total == line.fan.reused)
        line.seconds = record.ended_at - record.started_at
        self._shorten()

    def _ended_inside(self, fan: Fan, event: NodeEnded) -> None:
        """A node inside a fan-out has ended: an item, or part of one."""
        record, item = event.record, self.item_of(event.record.path)
        leaf = record.type not in HOLDERS
        if leaf and not event.reused and record.status is not Status.SKIPPED:
            self._rest(fan, record.path, item)
        stops = record.status in (Status.FAILED, Status.PAUSED) and not record.continued
        if record.path != item:
            if stops:
                fan.stopped[item] = record.status
            return
        fan.early = record.type in EARLY
        if not fan.early:
            fan.open.pop(item, None)
        if record.status is Status.PAUSED or halted(record):
            fan.stopped.setdefault(item, record.status if record.status is Status.PAUSED else Status.FAILED)
            return
        fan.stopped.pop(item, None)
        fan.ended[record.status] = fan.ended.get(record.status, 0) + 1
        fan.reused += event.reused

    def _rest(self, fan: Fan, path: str, item: str) -> None:
        """A leaf in a fan-out works no more."""
        fan.waiting.pop(path, None)
        left = fan.open.get(item, 0) - 1
        if left > 0 or (item in fan.open and not fan.early):
            fan.open[item] = max(0, left)
        else:
            fan.open.pop(item, None)

    def _retried(self, event: NodeRetried) -> None:
        fan = self.fan_of(event.path)
        if fan is not None:
            item = self.item_of(event.path)
            fan.open[item] = max(0, fan.open.get(item, 0) - 1)  # it stands open while it waits for its next try
        else:
            self._line(event.path, "").error = event.error

    def _opened(self, event: FanOpened) -> None:
        if self.fan_of(event.path) is not None or self.is_parallel(event.path):
            return
        self._fans[f"{event.path}:"] = fan = Fan(event.total, event.bound)
        self._inside = tuple(self._fans)
        self._line(event.path, "fan-out").fan = fan

    def _line(self, path: str, type_: str) -> Line:
        """The line of a step; the passes of a loop share one for each step in it."""
        holder = parent_of(path)
        name = name_of(path)
        key = path if holder is None or ":" not in name else f"{holder}:{name.partition(':')[0]}"
        line = self.lines.get(key)
        if line is None:
            depth, above = 0, holder
            while above is not None:
                depth, above = depth + 1, parent_of(above)
            line = self.lines[key] = Line(path, name, depth, type_, Status.RUNNING, time.monotonic())
        if line.path != path:
            self._close(line)
            line.path, line.name, line.began, line.fan = path, name, time.monotonic(), None
        line.type = type_ or line.type
        return line

    def _shorten(self) -> None:
        if len(self.lines) <= MOST_LINES:
            return
        for key, line in self.lines.items():
            if line.seconds is not None:
                del self.lines[key]
                self._close(line)
                self.dropped += 1
                return

    def _close(self, line: Line) -> None:
        """Nothing more will be heard of what is inside a step."""
        self._fans.pop(f"{line.path}:", None)
        self._inside = tuple(self._fans)
