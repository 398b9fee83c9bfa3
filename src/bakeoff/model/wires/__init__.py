"""Wire formats. Each module has what `Wire` names: how a request is written, how its stream is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from bakeoff.model.protocol import Request, Usage

MOST_TOKENS = 1 << 50
"""Most that counts as a number of tokens: beyond it arithmetic and databases fail."""


@dataclass(slots=True)
class Reading:
    """State of a reply while it is streamed.

    Attributes:
        finish_reason: why the model ended, once it told; the text is whole then.
        refused: whether the model, or a filter around it, declined.
        error: the error object of an event in the stream.
        usage: what it used, as far as it was told.
        request_id: the reply's own name.
    """

    parts: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    refused: bool = False
    error: Mapping[str, Any] | None = None
    usage: Usage = field(default_factory=Usage)
    request_id: str | None = None
    model: str | None = None


class Wire(Protocol):
    """One wire format; modules of this package implement it."""

    PATH: str
    """Path that follows the base URL."""

    def headers(self, key: str) -> dict[str, str]:
        """The headers that the format wants, and those that show `key`, which may be empty."""
        ...

    def body(self, request: Request, official: bool) -> dict[str, Any]:
        """The JSON of `request`, whose `model` is set; `official` for the inventor's own endpoint."""
        ...

    def feed(self, reading: Reading, event: Mapping[str, Any]) -> bool:
        """Take one event in, or a whole reply of an endpoint that does not stream; whether it was the last one."""
        ...


def bearer(key: str) -> dict[str, str]:
    """The header that most endpoints want a key in."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are set."""
    return {name: value for name, value in fields.items() if value is not None}


def table(value: Any) -> Mapping[str, Any]:
    """`value` if it is a JSON object, else an empty one: endpoints send null for what they do not have."""
    return value if isinstance(value, Mapping) else {}


def text(value: Any) -> str | None:
    """`value` if it is a text that is not empty."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int | None:
    """`value` if it is a number of tokens, and not more than anybody can use."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None
