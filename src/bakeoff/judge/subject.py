"""Subject: an output that is judged, and the attempt that it comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from bakeoff.model.protocol import Message


@dataclass(frozen=True, slots=True)
class CurrentAttempt:
    """Place of an attempt in its run: its id from 1, its lane from 0, its round in that lane from 0."""

    id: int
    lane: int
    round: int


CURRENT: ContextVar[CurrentAttempt | None] = ContextVar("bakeoff_attempt", default=None)


def current_attempt() -> CurrentAttempt | None:
    """The attempt that the calling code works for; None outside of one."""
    return CURRENT.get()


@dataclass(frozen=True, slots=True)
class Subject:
    """An output to judge.

    Attributes:
        output: what the attempt made: text, or any JSON value.
        conversation: the messages that it answers, oldest first.
        facts: what else is known of its making.
        not_stopped: where a check says what it had to leave running.
    """

    output: Any
    conversation: tuple[Message, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    not_stopped: list[str] = field(default_factory=list, compare=False)

    @property
    def text(self) -> str:
        """The output as text; JSON where it is none."""
        if isinstance(self.output, str):
            return self.output
        return json.dumps(self.output, ensure_ascii=False, sort_keys=True, default=str)
