"""Model protocol: request, reply and errors. Light: imported by everything that speaks of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, get_args

from bakeoff.errors import BakeoffError

Kind = Literal[
    "rate_limit",
    "overload",
    "timeout",
    "auth",
    "bad_request",
    "not_found",
    "cut",
    "refusal",
    "context_length",
    "server",
    "connection",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
TRANSIENT: frozenset[Kind] = frozenset({"rate_limit", "overload", "timeout", "cut", "server", "connection"})
"""Kinds of failure that may be gone when the same request is sent again."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: `system`, `user` or `assistant`.
        content: its text.
    """

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One generation. What is None is left to the model's own default.

    Attributes:
        messages: the conversation; empty when `prompt` is given.
        prompt: text to continue, for models that offer raw completion. For the local model end it without a
            newline: after one it stops at once.
        model: another name than the model's own.
        max_tokens: tokens of output at most.
        temperature: 0 for the likeliest text.
        top_p: share of the likeliest tokens that are drawn from.
        seed: the same seed gives the same text, where the model can do that.
        stop: texts that end the output.
        json_schema: JSON Schema that the output fulfils, where the model can do that.
        extra: further fields of the request's body, as the endpoint calls them; they win over all others.
    """

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
    """Usage of a generation; None is unknown and never means 0.

    Attributes:
        input_tokens: all tokens read, cached ones included.
        output_tokens: all tokens written, those of its reasoning included.
        cached_tokens: input tokens that came from the provider's cache.
        usd: its price in USD.
        assumed_tokens: what counts for a budget of tokens where nobody reported them; None: as reserved.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usd: float | None = None
    assumed_tokens: int | None = None

    @property
    def tokens(self) -> int | None:
        """Input and output together; None unless both are known."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished generation.

    Attributes:
        text: what it wrote; may be empty.
        usage: what it used.
        finish_reason: `stop`, `length` when `max_tokens` cut it short, or what the endpoint said instead.
        request_id: names it to the provider.
        model: the model that answered, as the endpoint calls it.
        seconds: from sending the request that was answered to its end; waiting before it is not included.
    """

    text: str
    usage: Usage = Usage()
    finish_reason: str | None = None
    request_id: str | None = None
    model: str | None = None
    seconds: float = 0.0


class Model(Protocol):
    """Something that generates text. Every model is an async context manager too; leaving it frees what it holds."""

    async def generate(self, request: Request) -> Reply:
        """Generate one reply.

        Cancelled, it returns when the request is closed, so that the provider stops working on it.

        Raises:
            ModelError: there is no reply; its kind tells why.
        """
        ...

    async def __aenter__(self) -> Model:
        """Make it ready; nothing is sent yet."""
        ...

    async def __aexit__(self, *details: object) -> None:
        """Close its connections and end its processes."""
        ...


class Detaching(Model, Protocol):
    """A model whose work may go on after `generate` was cancelled.

    Attributes:
        detached: whether that is so. Without it a model has nothing that goes on.
    """

    detached: bool

    async def cancel(self, request: Request) -> None:
        """End the work on `request` that goes on; returns when it has ended."""
        ...


class ModelError(BakeoffError):
    """A generation gave no reply.

    Attributes:
        kind: why, one of `KINDS`.
        retry_after: seconds that the endpoint asked this request to wait; None when it named none.
        transient: whether sending the same request again may help.
        status: the HTTP status, where there was one.
        request_id: names the request to the provider.
        usage: what was used all the same, where that was told.
        facts: what else is known, for the record.
        may_have_worked: whether something may have been generated before it was turned away.
        refused: whether nobody listens there: no connection was made, and no call.
        unbegun: whether no call was made, because what it needs here could not be had.
        replied: whether the call had ended, and what it came to is on record: it need not be made again.
    """

    may_have_worked = False
    refused = False
    unbegun = False
    replied = False
    facts: Mapping[str, Any] = MappingProxyType({})

    def __init__(
        self,
        message: str,
        kind: Kind,
        *,
        retry_after: float | None = None,
        transient: bool | None = None,
        status: int | None = None,
        request_id: str | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.retry_after = retry_after
        self.transient = kind in TRANSIENT if transient is None else transient
        self.status = status
        self.request_id = request_id
        self.usage = usage

    def __reduce__(self) -> tuple[Any, ...]:
        return _error, (
            str(self),
            self.kind,
            self.retry_after,
            self.transient,
            self.status,
            self.request_id,
            self.usage,
        )


def _error(message: str, kind: Kind, *facts: Any) -> ModelError:
    names = ("retry_after", "transient", "status", "request_id", "usage")
    return ModelError(message, kind, **dict(zip(names, facts, strict=True)))
