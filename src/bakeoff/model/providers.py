"""Models of other providers, through pydantic-ai's direct requests (`bakeoff[providers]` and the provider's SDK)."""

from __future__ import annotations

import random
import time
from typing import Any

from bakeoff.engine.retry import Retry
from bakeoff.errors import BakeoffError
from bakeoff.model import failures
from bakeoff.model.client import estimate
from bakeoff.model.protocol import ModelError, Reply, Request, Usage
from bakeoff.model.rate.gate import Gate, gate_for
from bakeoff.model.retrying import RETRY, retried

PROVIDERS = frozenset(
    {
        "alibaba",
        "anthropic",
        "azure",
        "bedrock",
        "cerebras",
        "cohere",
        "deepseek",
        "fireworks",
        "github",
        "google",
        "google-gla",
        "google-vertex",
        "groq",
        "heroku",
        "huggingface",
        "mistral",
        "moonshotai",
        "openrouter",
        "together",
        "vercel",
        "xai",
    }
)
"""Provider names that may stand before the colon of a model's name there."""
INSTALL = "pip install 'bakeoff[providers]' and 'pydantic-ai-slim[PROVIDER]'"


class ProviderMissingError(BakeoffError):
    """pydantic-ai, or the provider's own package or key, is not there."""


class ProviderModel:
    """A model that pydantic-ai reaches. Use it as an async context manager.

    Cancelled, the request is cancelled in the provider's own client; whether the provider sees that is up to it.
    """

    def __init__(self, model: Any, *, gate: Gate | None = None, retry: Retry = RETRY) -> None:
        """Find the model; nothing is sent.

        Args:
            model: its name as pydantic-ai has it (`groq:MODEL`), or one of its model objects.
            gate: what requests pass.
            retry: how failures that may pass are tried again.

        Raises:
            ProviderMissingError: what it needs is not installed, or there is no such model or key.
        """
        try:
            from pydantic_ai.exceptions import UserError
            from pydantic_ai.models import infer_model
        except ImportError:
            raise ProviderMissingError(f"model {model!r} needs pydantic-ai: {INSTALL}") from None
        try:
            self._model = infer_model(model)
        except (UserError, ImportError, ValueError) as failure:
            raise ProviderMissingError(f"model {model!r} cannot be used: {failure}") from None
        self.name = model if isinstance(model, str) else self._model.model_name
        self.retry = retry
        self._random = random.Random()  # noqa: S311
        self.gate = gate_for("pydantic-ai", self.name) if gate is None else gate

    async def __aenter__(self) -> ProviderModel:
        return self

    async def __aexit__(self, *details: object) -> None:
        return None

    async def generate(self, request: Request) -> Reply:
        """Generate one reply; see `Model`.

        Raises:
            ModelError: the provider has no raw completion, or the last try failed.
        """
        if request.prompt is not None or not request.messages:
            raise ModelError(f"{self.name}: a request needs messages, and no prompt", "bad_request")
        return await retried(lambda: self._try(request), self.retry, self._random)

    async def _try(self, request: Request) -> Reply:
        from pydantic_ai.direct import model_request

        async with self.gate.admit(estimate(request)) as ticket:
            since = time.monotonic()
            try:
                response = await model_request(
                    self._model,
                    _messages(request),
                    model_settings=_settings(request),
                    model_request_parameters=_parameters(request),
                )
            except Exception as failure:
                named = self._named(failure)
                if named.transient:
                    ticket.rejected(named.kind, named.retry_after)
                raise named from failure
            reply = self._reply(response, time.monotonic() - since)
            ticket.succeeded(reply.usage)
            return reply

    def _named(self, failure: Exception) -> ModelError:
        from pydantic_ai.exceptions import ContentFilterError, ModelAPIError, ModelHTTPError, UserError

        if isinstance(failure, ContentFilterError):
            return ModelError(f"{self.name}: {failures.SAID['refusal']}: {failure}", "refusal")
        if isinstance(failure, ModelHTTPError):
            error = failures.error_of(failure.body) or {"message": str(failure.body or "")}
            return failures.from_error(error, self.name, failure.status_code)
        if isinstance(failure, ModelAPIError):
            return ModelError(f"{self.name}: {failures.SAID['connection']}: {failure}", "connection")
        if isinstance(failure, UserError):
            return ModelError(f"{self.name}: {failures.SAID['bad_request']}: {failure}", "bad_request")
        text = f"{self.name}: {failures.SAID['server']}: {type(failure).__name__}: {failure}"
        return ModelError(text, "server", transient=False)

    def _reply(self, response: Any, seconds: float) -> Reply:
        usage = response.usage
        # 0 stands for what the provider did not tell.
        tokens = Usage(usage.input_tokens or None, usage.output_tokens or None, usage.cache_read_tokens or None)
        if response.finish_reason == "content_filter":
            raise ModelError(f"{self.name}: {failures.SAID['refusal']}", "refusal", usage=tokens)
        return Reply(
            text=response.text or "",
            usage=Usage(tokens.input_tokens, tokens.output_tokens, tokens.cached_tokens, _usd(response, tokens)),
            finish_reason=response.finish_reason,
            request_id=response.provider_response_id,
            model=response.model_name,
            seconds=seconds,
        )


def _usd(response: Any, tokens: Usage) -> float | None:
    if tokens.tokens is None:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def _messages(request: Request) -> list[Any]:
    from pydantic_ai import messages as theirs

    found: list[Any] = []
    for message in request.messages:
        if message.role == "assistant":
            found.append(theirs.ModelResponse(parts=[theirs.TextPart(message.content)]))
            continue
        part = theirs.SystemPromptPart if message.role == "system" else theirs.UserPromptPart
        if not found or not isinstance(found[-1], theirs.ModelRequest):
            found.append(theirs.ModelRequest(parts=[]))
        found[-1].parts.append(part(message.content))
    return found


def _settings(request: Request) -> Any:
    wanted = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
        "stop_sequences": list(request.stop) or None,
        "extra_body": dict(request.extra) or None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _parameters(request: Request) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    if request.json_schema is None:
        return ModelRequestParameters()
    schema = OutputObjectDefinition(json_schema=dict(request.json_schema), name="reply")
    return ModelRequestParameters(output_mode="native", output_object=schema)
