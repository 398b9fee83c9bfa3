"""Events of Gemini CLI's `stream-json`, and its single `json` document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.agent.events import Family, Reading, count, part, session, words


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event."""
    reading.session_id = session(event.get("session_id")) or reading.session_id
    match event.get("type"):
        case "message" if event.get("role") == "assistant":
            content = event.get("content")
            if isinstance(content, str):
                (reading.add if event.get("delta") else reading.say)(content)
        case "tool_use":
            reading.say("")
            reading.turns = (reading.turns or 0) + 1
        case "error":
            reading.warn(words(event.get("message")) or "error")
        case "result":
            _stats(part(event, "stats"), reading)
            error = part(event, "error")
            reading.end(event.get("status") == "success", words(error.get("message")))
        case None if "response" in event or "error" in event:
            _document(event, reading)


def _stats(stats: Mapping[str, Any], reading: Reading) -> None:
    reading.spend(
        input_tokens=count(stats.get("input_tokens")),
        cached_input_tokens=count(stats.get("cached")),
        output_tokens=count(stats.get("output_tokens")),
    )


def _document(event: Mapping[str, Any], reading: Reading) -> None:
    """The one document of `--output-format=json`, where tokens stand by model."""
    text = words(event.get("response"))
    error = part(event, "error")
    reading.say(text or "")
    for model in part(event, "stats", "models").values():
        tokens = part(model, "tokens")
        before = reading.usage or {}
        reading.spend(
            input_tokens=before.get("input_tokens", 0) + (count(tokens.get("prompt")) or 0),
            cached_input_tokens=before.get("cached_input_tokens", 0) + (count(tokens.get("cached")) or 0),
            output_tokens=before.get("output_tokens", 0) + (count(tokens.get("candidates")) or 0),
        )
    reading.end(text is not None and not error, words(error.get("message")))


FAMILY = Family(read)
