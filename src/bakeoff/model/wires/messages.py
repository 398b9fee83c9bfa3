"""Anthropic Messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bakeoff.model.protocol import Request, Usage
from bakeoff.model.wires import Reading, count, given, table, text

PATH = "/v1/messages"
VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 4096
"""This format insists on a limit; it is this one where none is set."""

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


def headers(key: str) -> dict[str, str]:
    """The version of this format, and the key."""
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def body(request: Request, official: bool) -> dict[str, Any]:
    """The JSON of `request`. This format has no `seed`; system messages stand apart from the others."""
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    asked = None
    if request.json_schema is not None:
        asked = {"format": {"type": "json_schema", "schema": dict(request.json_schema)}}
    return {
        "model": request.model,
        "messages": [
            {"role": message.role, "content": message.content}
            for message in request.messages
            if message.role != "system"
        ],
        "max_tokens": request.max_tokens or DEFAULT_MAX_TOKENS,
        "stream": True,
        **given(
            system=system or None,
            temperature=request.temperature,
            top_p=request.top_p,
            stop_sequences=list(request.stop) or None,
            output_config=asked,
        ),
    }


def feed(reading: Reading, event: Mapping[str, Any]) -> bool:
    """Take one event in."""
    match event.get("type"):
        case "message_start":
            _named(reading, table(event.get("message")))
        case "content_block_start":
            reading.parts.append(text(table(event.get("content_block")).get("text")) or "")
        case "content_block_delta":
            reading.parts.append(text(table(event.get("delta")).get("text")) or "")
        case "message_delta":
            _ended(reading, table(event.get("delta")), table(event.get("usage")))
        case "message_stop":
            return True
        case "message":
            _named(reading, event)
            reading.parts += [text(part.get("text")) or "" for part in event.get("content") or ()]
            _ended(reading, event, {})
            return True
    return False


def _named(reading: Reading, message: Mapping[str, Any]) -> None:
    reading.request_id = text(message.get("id")) or reading.request_id
    reading.model = text(message.get("model")) or reading.model
    told = table(message.get("usage"))
    # What came from or went to the cache is told apart from the rest of the input here, and only here.
    parts = [count(told.get(f"{name}input_tokens")) for name in ("", "cache_read_", "cache_creation_")]
    if parts[0] is not None:
        reading.usage = Usage(
            input_tokens=sum(part or 0 for part in parts),
            output_tokens=count(told.get("output_tokens")),
            cached_tokens=parts[1],
        )


def _ended(reading: Reading, delta: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
    output = count(usage.get("output_tokens"))
    if output is not None:
        reading.usage = replace(reading.usage, output_tokens=output)
    reason = text(delta.get("stop_reason"))
    if reason is not None:
        reading.finish_reason = _REASONS.get(reason, reason)
        reading.refused |= reason == "refusal"
