"""Client of an HTTP endpoint: always streamed, through the rate gate, retried as each failure deserves."""

from __future__ import annotations

import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, cast

import anyio

from bakeoff.engine.mask import Masker
from bakeoff.engine.retry import Retry
from bakeoff.model import failures
from bakeoff.model.answer import Answer
from bakeoff.model.connections import Connections, is_refused
from bakeoff.model.prices import price
from bakeoff.model.protocol import Kind, ModelError, Reply, Request, Usage
from bakeoff.model.rate.controller import UNDECLARED, Limits
from bakeoff.model.rate.gate import Gate, Ticket, gate_for
from bakeoff.model.retrying import RETRY, retried
from bakeoff.model.wires import Reading, Wire

if TYPE_CHECKING:
    import httpx

LINGER = 0.25
"""Seconds to wait for an answer's last bytes after its last event, so that its connection can be used again."""
USAGE_TIME = 5.0
"""Seconds to wait for the usage once the text is whole."""
CHARACTERS_PER_TOKEN = 3
"""For estimates: text has about four, code and other languages fewer."""
UNKNOWN_OUTPUT = 1024
"""Tokens of output that are expected of a request without a limit."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds an endpoint gets.

    Attributes:
        connect: for the connection.
        first_byte: from then to the first byte of the answer; a model may think that long.
        between: from one byte to the next.
    """

    connect: float = 10.0
    first_byte: float = 300.0
    between: float = 120.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Endpoint of a model, and what is known of it.

    Attributes:
        base_url: what the wire format's path is put behind.
        model: the model's name there; a request may name another.
        api: the wire format: `chat`, `responses`, `completions` or `messages`.
        key: shown to the endpoint; empty for none.
        max_tokens: for requests that say nothing.
        price: USD for a million tokens of input and of output; None where unknown.
        use_proxies: whether proxies that the environment names are used.
        keep_alive: whether a connection is used again; some small servers close theirs without a word.
    """

    name: str
    base_url: str
    model: str
    api: str = "chat"
    key: str = field(default="", repr=False)
    max_tokens: int | None = None
    limits: Limits = UNDECLARED
    deadlines: Deadlines = Deadlines()
    price: tuple[float | None, float | None] = (None, None)
    use_proxies: bool = True
    keep_alive: bool = True


class HttpModel:
    """A model behind HTTP. Use it as an async context manager, in one event loop."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        gate: Gate | None = None,
        retry: Retry = RETRY,
        chance: random.Random | None = None,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            endpoint: where it is.
            gate: what requests pass; by default the one that all users of the endpoint share.
            retry: how failures that may pass are tried again; `on` names kinds of failure.
            chance: what delays are drawn from.
        """
        self.endpoint = endpoint
        self.retry = retry
        self.gate = gate_for(endpoint.base_url, endpoint.key, endpoint.limits) if gate is None else gate
        self._random = random.Random() if chance is None else chance  # noqa: S311
        self._masker = Masker({"key": endpoint.key})
        self._where = f"{endpoint.name} at {endpoint.base_url}"
        self._connections: Connections | None = None

    def __repr__(self) -> str:
        return f"HttpModel({self.endpoint!r})"

    async def __aenter__(self) -> HttpModel:
        endpoint = self.endpoint
        self._connections = Connections(
            endpoint.base_url,
            connect=endpoint.deadlines.connect,
            keep_alive=endpoint.keep_alive,
            use_proxies=endpoint.use_proxies,
        )
        return self

    async def __aexit__(self, *details: object) -> None:
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.close()
        self.gate.close()

    async def generate(self, request: Request) -> Reply:
        """Generate one reply; see `Model`.

        Cancelled, it closes the request's connection before it returns, and an endpoint that listens to that stops.

        Passes on ModelError: the last try failed, or a failure does not deserve another.
        """
        wire = self._wire(request)
        request = replace(
            request,
            model=request.model or self.endpoint.model,
            max_tokens=request.max_tokens or self.endpoint.max_tokens,
        )
        return await retried(lambda: self._try(wire, request), self.retry, self._random)

    def at_most(self, request: Request) -> Usage:
        """Upper bound on the usage of one try of `request`, for a budget; None where nothing bounds it or has a price.

        The input is estimated, with few characters to a token.
        """
        limit = request.max_tokens or self.endpoint.max_tokens
        tokens = Usage(estimate(replace(request, max_tokens=1)) - 1, limit)
        usd = price(tokens, request.model or self.endpoint.model, self.endpoint.base_url, self.endpoint.price)
        return replace(tokens, usd=usd)

    def _wire(self, request: Request) -> Wire:
        """The wire format for `request`: endpoints of the chat format are asked for raw completion beside it.

        Raises:
            ModelError: the endpoint's format has no such request.
        """
        api = self.endpoint.api
        if request.prompt is not None and api == "chat":
            api = "completions"
        if (request.prompt is not None) != (api == "completions") or (request.prompt is None and not request.messages):
            wanted = "a prompt, and no messages" if api == "completions" else "messages, and no prompt"
            raise ModelError(f"{self._where}: a request in the format {api!r} needs {wanted}", "bad_request")
        return cast(Wire, import_module(f"bakeoff.model.wires.{api}"))

    async def _try(self, wire: Wire, request: Request) -> Reply:
        official = self.endpoint.base_url.startswith("https://api.openai.com/")
        content = json.dumps({**wire.body(request, official), **request.extra}).encode()
        async with self.gate.admit(estimate(request)) as ticket:
            since = time.monotonic()
            try:
                reading = await self._ask(wire, content, ticket)
            except ModelError as failure:
                failure.args = (self._masker.text(str(failure)),)  # endpoints repeat wrong keys
                if failure.transient:
                    ticket.rejected(failure.kind, failure.retry_after)
                raise
            reply = self._reply(reading, request, time.monotonic() - since)
            ticket.succeeded(reply.usage)
            return reply

    async def _ask(self, wire: Wire, content: bytes, ticket: Ticket) -> Reading:
        deadlines = self.endpoint.deadlines
        answer = Answer(wire, self._where)
        first = anyio.current_time() + deadlines.connect + deadlines.first_byte
        with anyio.CancelScope(deadline=first) as scope:
            async with self._named_failures(answer), self._post(wire, content) as response:
                answer.start(response.status_code, response.headers)
                if response.status_code == 200:
                    ticket.accepted()
                async for chunk in response.aiter_bytes():
                    if answer.ended:
                        continue
                    answer.feed(chunk)
                    scope.deadline = anyio.current_time() + _patience(answer, deadlines)
        if scope.cancelled_caught and not answer.is_whole:
            limit = deadlines.between if answer.begun else deadlines.first_byte
            raise self._failure("timeout", f"silent for {limit:g} s")
        return answer.finish()

    def _post(self, wire: Wire, content: bytes) -> AbstractAsyncContextManager[httpx.Response]:
        if self._connections is None:
            raise RuntimeError("the model is not open: use `async with model:`")
        return self._connections.post(wire.PATH, content, _headers(wire, self.endpoint.key))

    @asynccontextmanager
    async def _named_failures(self, answer: Answer) -> AsyncIterator[None]:
        """Turn the HTTP library's failures into ours, which hold no request and so no key.

        Passes on ModelError: the failure, named.
        """
        import httpx

        try:
            yield
        except httpx.TimeoutException:
            limit = self.endpoint.deadlines.connect
            raise self._failure("timeout", f"no connection within {limit:g} s") from None
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as failure:
            raise self._failure("connection", str(failure), transient=False) from None
        except httpx.HTTPError as failure:
            text = str(failure) or type(failure).__name__
            if not answer.started:
                # A certificate that is refused now is refused for ever.
                untrusted = _certificate(failure)
                named = self._failure("connection", untrusted or text, transient=not untrusted)
                if is_refused(failure):
                    said = "connection refused: nothing listens there; start the server, or correct its URL"
                    named = self._failure("connection", said)
                    named.refused = True
                raise named from None
            if not answer.is_whole:
                raise self._failure("cut", text) from None

    def _failure(self, kind: Kind, text: str, *, transient: bool | None = None) -> ModelError:
        return ModelError(f"{self._where}: {failures.SAID[kind]}: {text}", kind, transient=transient)

    def _reply(self, reading: Reading, request: Request, seconds: float) -> Reply:
        endpoint = self.endpoint
        model = request.model or endpoint.model
        usd = price(reading.usage, model, endpoint.base_url, endpoint.price)
        return Reply(
            text="".join(reading.parts),
            usage=replace(reading.usage, usd=usd),
            finish_reason=reading.finish_reason,
            request_id=reading.request_id,
            model=reading.model or model,
            seconds=seconds,
        )


def _patience(answer: Answer, deadlines: Deadlines) -> float:
    """Seconds to wait for the next bytes of an answer."""
    if answer.ended:
        return LINGER
    return min(USAGE_TIME, deadlines.between) if answer.is_whole else deadlines.between


def estimate(request: Request) -> int:
    """Tokens, input and output, that `request` may use; for limits and budgets, before it is sent."""
    size = len(request.prompt or "") + sum(len(message.content) + 12 for message in request.messages)
    return size // CHARACTERS_PER_TOKEN + (request.max_tokens or UNKNOWN_OUTPUT)


def _certificate(failure: BaseException | None) -> str | None:
    """The fault of the endpoint's certificate, if that is what made the connection fail."""
    import ssl

    while failure is not None and not isinstance(failure, ssl.SSLCertVerificationError):
        failure = failure.__cause__ or failure.__context__
    return None if failure is None else f"its certificate is not trusted: {failure.verify_message}"


def _headers(wire: Wire, key: str) -> dict[str, str]:
    return {
        **wire.headers(key),
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "bakeoff",
    }
