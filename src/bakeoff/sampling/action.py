"""Action of an attempt: ask a model, or call a function that makes something (an agent, for one)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from bakeoff.api.codec import argument_json
from bakeoff.engine.blocking import is_async
from bakeoff.judge.calling import ask, most_tokens
from bakeoff.model.protocol import Message, Model, Reply, Request, Usage
from bakeoff.sampling.result import Attempt

WriteCheckpoint = Callable[[Mapping[str, Any], Mapping[str, Any]], Awaitable[None]]
"""Takes what a call is charged with, and what is needed to go on from there."""


async def _no_checkpoint(usage: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """For runs of which nothing is kept."""


@dataclass(slots=True)
class Ticket:
    """The right to make one attempt, and what it should build on.

    Attributes:
        id, lane, round: see `Attempt`.
        request: what to ask a model; None for functions.
        model: who is asked, where it is not the sampling's own model.
        previous: the attempt before it in its lane that was judged and failed, or whose agent changed nothing, where
            attempts build on one another.
        feedback: what that one failed, as text.
        not_stopped: where the maker says what it had to leave running.
        write_checkpoint: where the maker says, as soon as a call has ended that costs money, what it is charged with
            and what is needed to go on from there; on disk when that returns. Of use to makers that have a `resumes`.
        heard: where the maker says that its work goes on, with what is known of it so far.
        begun: whether the maker has begun a call that may cost something.
        checkpoint: what was put on record so in an earlier session; the maker goes on from there and makes no call.
    """

    id: int
    lane: int
    round: int
    request: Request | None = None
    model: Model | None = None
    previous: Attempt | None = None
    feedback: str = ""
    not_stopped: list[str] = field(default_factory=list)
    write_checkpoint: WriteCheckpoint = _no_checkpoint
    heard: Callable[[Mapping[str, Any]], None] | None = None
    begun: bool = False
    checkpoint: Mapping[str, Any] | None = None

    def begins(self) -> None:
        """A call that may cost something is about to be made."""
        self.begun = True


@dataclass(frozen=True, slots=True)
class Generation:
    """Generation of an attempt: its output with what is known of it.

    Attributes:
        output: text, or any JSON value.
        usage: what it used, where it is known.
        conversation: the messages that the output answers.
        facts: what else is known of it; it stands in the attempt's receipt.
    """

    output: Any
    usage: Usage | None = None
    conversation: tuple[Message, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class Maker(Protocol):
    """Makes something for an attempt: the seam for agents."""

    async def make(self, attempt: Ticket) -> Generation:
        """Make it. Cancelled, whatever was started has ended before this returns."""
        ...


@dataclass(frozen=True, slots=True)
class Ask:
    """Asks a model."""

    request: Request
    model: Model | None
    title = "sample"

    async def make(self, ticket: Ticket) -> Generation:
        """Ask.

        Passes on ModelError: the call failed.

        Raises:
            TypeError: the model returned no reply.
        """
        request, model = ticket.request, ticket.model or self.model
        assert request is not None
        assert model is not None
        reply = await ask(model, request, ticket.not_stopped)
        if not isinstance(reply, Reply):
            raise TypeError(f"a model's `generate` returns a Reply, not {reply!r:.100}")
        facts = {"request_id": reply.request_id, "model": reply.model, "finish_reason": reply.finish_reason}
        known = {name: value for name, value in facts.items() if value is not None}
        return Generation(reply.text, reply.usage, talk(request), known)

    def request_of(self, ticket: Ticket) -> Request:
        """A request of this attempt's own: another seed where there is one, and another object in any case."""
        request = ticket.request or self.request
        seed = request.seed
        return replace(request, seed=None if seed is None else seed + ticket.id - 1)

    def most_tokens(self, ticket: Ticket) -> float:
        """Upper bound on its tokens."""
        return most_tokens(ticket.request or self.request)

    def identity(self, name: str) -> str:
        """Identity by which a durable run finds it."""
        return argument_json(asdict(self.request), name)


@dataclass(frozen=True, slots=True)
class Call:
    """Calls a function, or the `make` of an object.

    Attributes:
        resumes: whether the object can go on from what it put on record of a call; None for those that put nothing.
    """

    function: Callable[[Ticket], Awaitable[Any]]
    title: str
    resumes: Callable[[Ticket, Mapping[str, Any]], Awaitable[bool]] | None = None

    async def make(self, ticket: Ticket) -> Generation:
        """Call it."""
        made = await self.function(ticket)
        return made if isinstance(made, Generation) else Generation(made)

    def most_tokens(self, ticket: Ticket) -> float:
        """Nobody knows."""
        return float("inf")

    def identity(self, name: str) -> str:
        """Identity by which a durable run finds it."""
        return self.title


def talk(request: Request) -> tuple[Message, ...]:
    """A request as a conversation."""
    return request.messages or ((Message("user", request.prompt),) if request.prompt else ())


def as_action(given: Any, model: Model | None, brings_model: bool) -> Ask | Call:
    """An action out of what a user gave.

    Raises:
        TypeError: it is none, or there is no model to ask.
    """
    if isinstance(given, str):
        given = Request((Message("user", given),))
    if isinstance(given, Request):
        if model is None and not brings_model:
            raise TypeError("a prompt needs a model: give model=")
        return Ask(given, model)
    make = getattr(given, "make", None)
    function = make if callable(make) else given
    if not is_async(function):
        raise TypeError(
            f"an action is a text, a Request, an async function of the attempt, or has an async `make`; not {given!r}"
        )
    owner = type(given) if callable(make) else given
    title = str(getattr(owner, "__qualname__", type(given).__name__))
    return Call(function, title, getattr(given, "resumes", None) if callable(make) else None)
