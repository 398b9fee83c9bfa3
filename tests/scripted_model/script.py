"""What the model answers: replies, and scripts that choose one for each request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scripted_model.server import Seen


@dataclass(frozen=True)
class Say:
    """A text, and the end of the turn. `refusal` marks it as the model's refusal where the wire can say that."""

    text: str
    input_tokens: int = 11
    output_tokens: int = 7
    refusal: bool = False


@dataclass(frozen=True)
class Shell:
    """A call of the shell tool that the request offers."""

    command: str
    input_tokens: int = 11
    output_tokens: int = 7


@dataclass(frozen=True)
class Status:
    """An HTTP error, such as 429 with `retry_after` seconds, 503 or 529."""

    code: int
    retry_after: float | None = None
    message: str = ""


@dataclass(frozen=True)
class Stall:
    """Say nothing (after `text`, if there is any) until released, the client leaves or the server closes."""

    then: Reply = field(default_factory=lambda: Say("released"))
    headers_first: bool = False


@dataclass(frozen=True)
class Cut:
    """Begin to stream `reply` and close the connection in the middle."""

    reply: Say | Shell = field(default_factory=lambda: Say("this text will never be whole"))
    share: float = 0.5


@dataclass(frozen=True)
class Garbage:
    """A 200 whose body is no answer."""

    body: bytes = b"\x00\xff<html>{{{ not an answer \xfe"
    content_type: str = "text/event-stream"


@dataclass(frozen=True)
class Raw:
    """Any answer at all: `chunks` are sent one by one, and then the connection is closed."""

    chunks: tuple[bytes, ...] = ()
    code: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/event-stream"),)
    stall: bool = False


Reply = Say | Shell | Status | Stall | Cut | Garbage | Raw
Script = Callable[["Seen"], Reply]
"""Chooses the reply for a request that offers a shell tool; others are small talk and get `ScriptedModel.aside`."""


def in_order(*replies: Reply) -> Script:
    """One reply after the other, whoever asks; the last one for ever."""
    lock = threading.Lock()
    left = list(replies)

    def choose(seen: Seen) -> Reply:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return choose


def by_turn(*replies: Reply) -> Script:
    """The reply whose number is that of the tool results in the conversation, so that many agents can share it."""
    return lambda seen: replies[min(len(seen.tool_results), len(replies) - 1)]


_NAMES = {"say": Say, "shell": Shell, "status": Status, "stall": Stall, "cut": Cut, "garbage": Garbage}


def from_json(text: str) -> list[Reply]:
    """Replies from a list such as `[{"shell": "make"}, {"status": 429, "retry_after": 1}, {"say": "done"}]`."""
    return [_reply(item) for item in json.loads(text)]


def _reply(item: dict[str, Any]) -> Reply:
    (name,) = _NAMES.keys() & item.keys()
    rest = {key: value for key, value in item.items() if key != name}
    value = item[name]
    if name in ("stall", "cut"):
        first = {"then" if name == "stall" else "reply": _reply(value)} if isinstance(value, dict) else {}
        return _NAMES[name](**first, **rest)
    if name == "garbage":
        return Garbage(value.encode()) if isinstance(value, str) else Garbage()
    return _NAMES[name](value, **rest)
