"""OpenAI Chat Completions, as most endpoints speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.model.protocol import Request, Usage
from bakeoff.model.wires import Reading, bearer, count, given, table, text

PATH = "/chat/completions"
headers = bearer


def body(request: Request, official: bool) -> dict[str, Any]:
    """The JSON of `request`."""
    # The official endpoint refuses the old name for its newer models; the others know only that one.
    limit = "max_completion_tokens" if official else "max_tokens"
    return {
        "model": request.model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        **common(request),
        **given(**{limit: request.max_tokens}, response_format=response_format(request)),
    }


def common(request: Request) -> dict[str, Any]:
    """Fields that chat and raw completion have in common."""
    return {
        "stream": True,
        "stream_options": {"include_usage": True},
        **given(
            temperature=request.temperature,
            top_p=request.top_p,
            seed=request.seed,
            stop=list(request.stop) or None,
        ),
    }


def response_format(request: Request) -> dict[str, Any] | None:
    """The `response_format` that asks for an output that fulfils a schema."""
    if request.json_schema is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(request.json_schema)}}


def feed(reading: Reading, event: Mapping[str, Any]) -> bool:
    """Take one chunk in. The last one of the stream is not JSON, so it never comes here."""
    named(reading, event)
    for choice in event.get("choices") or ():
        said = table(choice.get("delta") or choice.get("message"))
        reading.parts.append(text(said.get("content")) or "")
        if refusal := text(said.get("refusal")):
            reading.refused = True
            reading.parts.append(refusal)
        ended(reading, choice)
    return False


def named(reading: Reading, event: Mapping[str, Any]) -> None:
    """Take in what stands beside the choices: names and usage."""
    reading.request_id = text(event.get("id")) or reading.request_id
    reading.model = text(event.get("model")) or reading.model
    if told := table(event.get("usage")):
        reading.usage = Usage(
            input_tokens=count(told.get("prompt_tokens")),
            output_tokens=count(told.get("completion_tokens")),
            cached_tokens=count(table(told.get("prompt_tokens_details")).get("cached_tokens")),
        )


def ended(reading: Reading, choice: Mapping[str, Any]) -> None:
    """Take in why a choice ended, if it did."""
    reading.finish_reason = text(choice.get("finish_reason")) or reading.finish_reason
    reading.refused |= reading.finish_reason == "content_filter"
