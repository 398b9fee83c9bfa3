"""OpenAI Responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.model.protocol import Request, Usage
from bakeoff.model.wires import Reading, bearer, count, given, table, text

PATH = "/responses"
headers = bearer


def body(request: Request, official: bool) -> dict[str, Any]:
    """The JSON of `request`. This format has neither `seed` nor `stop`."""
    asked = None
    if request.json_schema is not None:
        asked = {"format": {"type": "json_schema", "name": "reply", "schema": dict(request.json_schema)}}
    return {
        "model": request.model,
        "input": [{"role": message.role, "content": message.content} for message in request.messages],
        "stream": True,
        "store": False,
        **given(max_output_tokens=request.max_tokens, temperature=request.temperature, top_p=request.top_p, text=asked),
    }


def feed(reading: Reading, event: Mapping[str, Any]) -> bool:
    """Take one event in."""
    match event.get("type"):
        case "response.output_text.delta":
            reading.parts.append(text(event.get("delta")) or "")
        case "response.refusal.delta":
            reading.refused = True
            reading.parts.append(text(event.get("delta")) or "")
        case "response.created" | "response.in_progress":
            _named(reading, table(event.get("response")))
        case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
            _ended(reading, table(event.get("response")))
            return True
        case _ if event.get("object") == "response":
            _ended(reading, event)
            return True
    return False


def _named(reading: Reading, response: Mapping[str, Any]) -> None:
    reading.request_id = text(response.get("id")) or reading.request_id
    reading.model = text(response.get("model")) or reading.model


def _ended(reading: Reading, response: Mapping[str, Any]) -> None:
    _named(reading, response)
    if told := table(response.get("usage")):
        reading.usage = Usage(
            input_tokens=count(told.get("input_tokens")),
            output_tokens=count(told.get("output_tokens")),
            cached_tokens=count(table(told.get("input_tokens_details")).get("cached_tokens")),
        )
    status = response.get("status")
    if status in ("failed", "cancelled"):
        reading.error = table(response.get("error")) or {"message": f"the response is {status}", "code": "server_error"}
        return
    # The end repeats all of the text; some endpoints send it nowhere else.
    contents = [part for item in response.get("output") or () for part in table(item).get("content") or ()]
    whole = [text(part.get("text") or part.get("refusal")) or "" for part in contents]
    if any(whole):
        reading.parts = whole
    reading.refused |= any(part.get("type") == "refusal" for part in contents)
    reason = table(response.get("incomplete_details")).get("reason")
    reading.refused |= reason == "content_filter"
    reading.finish_reason = "length" if reason == "max_output_tokens" else text(reason) or "stop"
