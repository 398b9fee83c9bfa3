"""Record of a node, as the engine keeps it: how the node ended, and output too large to carry inline."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from bakeoff.errors import OutputLostError


class RunStatus(StrEnum):
    """The status of a run; a closed set."""

    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    CANCELLED = "cancelled"
    BUDGET_SPENT = "budget_spent"


class Status(StrEnum):
    """The status of a node; a closed set."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    PAUSED = "paused"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


INLINE_LIMIT = 16 * 1024
"""Bytes of one output that a record carries itself; more goes to a file of the run."""

EXCERPT = 4 * 1024
"""Bytes of head and of tail, each, that stand for an output kept in a file."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A value kept in a file of the run; expressions load it whole, displays show the excerpt.

    Attributes:
        path: the file, absolute.
        size: bytes in the file.
        form: `text` (decoded as UTF-8 with replacement) or `json` (parsed).
        excerpt: head and tail, with a line between that says how much is left out.
    """

    path: str
    size: int
    form: str = "text"
    excerpt: str = ""

    def load(self) -> Any:
        """The whole value.

        Passes on OutputLostError: the file is gone, cut off or cannot be read.
        """
        return _load(self.path, self.size, self.form)

    def whole(self) -> bool:
        """Whether the file is there with all its bytes."""
        try:
            return os.stat(self.path).st_size == self.size
        except OSError:
            return False

    def __str__(self) -> str:
        return str(self.load())


@lru_cache(maxsize=4)
def _load(path: str, size: int, form: str) -> Any:
    try:
        data = Path(path).read_bytes()
    except OSError as failure:
        raise OutputLostError(
            f"output that a step printed was kept in {path} and is lost: {failure.strerror}"
        ) from failure
    if len(data) != size:
        raise OutputLostError(
            f"output that a step printed was kept in {path}, which has {len(data)} of its {size} bytes"
        )
    text = data.decode("utf-8", "replace")
    return json.loads(text) if form == "json" else text


def excerpt(head: bytes, tail: bytes, left_out: int) -> str:
    """Excerpt that stands for a long output where it is shown."""
    start, rest = head.decode("utf-8", "replace"), tail.decode("utf-8", "replace")
    return f"{start}\n[... {left_out} bytes left out ...]\n{rest}"


def kept(text: str, path: str) -> str | Stored:
    """A text as a record may carry it: itself, or put into the file at `path` where it is long.

    Passes on OSError: the file cannot be written.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= INLINE_LIMIT:
        return text
    Path(path).write_bytes(data)
    return Stored(path, len(data), "text", excerpt(data[:EXCERPT], data[-EXCERPT:], len(data) - 2 * EXCERPT))


@dataclass(slots=True)
class Outcome:
    """Outcome of a piece of work: how it ended, as the work itself tells it.

    Attributes:
        status: completed, failed, paused or skipped.
        output: what later nodes may read. A value at the top level may be `Stored`.
        error: one line for a person, when failed.
        kind: which sort of failure, for `retry: on` and for the record: `exit`, `timeout`, `spawn`,
            `rate-limit`, `overload`, `auth`, `agent`, `output`, `error`, ...
        input: what the work was given, for display.
        usage: tokens, calls and cost (`input_tokens`, `output_tokens`, `usd`, ...), where work was paid for. What
            nobody reported and counts for the budget all the same stands in a mapping of its own, `assumed`.
        facts: further evidence that stands on the record (`evidence`, `session_id`, ...).
    """

    status: Status = Status.COMPLETED
    output: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    kind: str | None = None
    input: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    facts: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Record:
    """One node of a run as it stands in the journal. Never changed once committed.

    Attributes:
        path: where it stands in the run's tree.
        type: what sort of node it is (a step type, `call`, `attempt`, ...).
        key: digest of everything its result depends on; empty where the node has none.
        started_at: wall-clock seconds since the epoch.
        ended_at: `started_at` plus the seconds that a monotonic clock counted, in all sessions that took part.
        attempts: how often the work was started in all, retries and resumed runs included.
        continued: a failure that the run was told to go on after; it is final.
    """

    path: str
    type: str
    status: Status
    output: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    kind: str | None = None
    input: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = None
    facts: Mapping[str, Any] | None = None
    key: str = ""
    started_at: float = 0.0
    ended_at: float = 0.0
    attempts: int = 1
    continued: bool = False

    @property
    def replied(self) -> bool:
        """Whether its paid work had ended well before something of the machine failed: see `Run.checkpoint`."""
        return self.status is Status.FAILED and bool(self.output.get("replied"))

    @property
    def final(self) -> bool:
        """Whether a resumed run keeps this record instead of running the node again."""
        return self.status in (Status.COMPLETED, Status.SKIPPED) or self.continued
