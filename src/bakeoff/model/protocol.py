"""What a model is: something that turns a request into a reply, or fails with a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from bakeoff.engine.errors import BakeoffError

TRANSIENT = frozenset({"rate_limit", "overload", "timeout", "cut", "server", "connection"})
"""Kinds of failure that may be gone when the same request is sent again."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked: a conversation, or a raw prompt to complete."""

    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    json_schema: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call used, as far as it is known."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered."""

    text: str
    usage: Usage | None = None
    finish_reason: str | None = None
    request_id: str | None = None
    model: str | None = None
    seconds: float | None = None


class Model(Protocol):
    """A model. One that detaches its work says `detached = True` and offers `async cancel(request)`."""

    async def generate(self, request: Request) -> Reply:
        """The reply; cancelled, the request is closed."""
        ...


class ModelError(BakeoffError):
    """A call that failed, with the sort of failure."""

    def __init__(
        self,
        message: str,
        kind: str,
        *,
        retry_after: float | None = None,
        transient: bool | None = None,
        status: int | None = None,
        request_id: str | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.transient = kind in TRANSIENT if transient is None else transient
        self.status = status
        self.request_id = request_id
        self.usage = usage
