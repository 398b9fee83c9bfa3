"""Raw completion: the model goes on with a text. Local servers and base models have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.model.protocol import Request
from bakeoff.model.wires import Reading, bearer, chat, given, text

PATH = "/completions"
headers = bearer


def body(request: Request, official: bool) -> dict[str, Any]:
    """The JSON of `request`."""
    return {
        "model": request.model,
        "prompt": request.prompt,
        **chat.common(request),
        **given(max_tokens=request.max_tokens, response_format=chat.response_format(request)),
    }


def feed(reading: Reading, event: Mapping[str, Any]) -> bool:
    """Take one chunk in. The last one of the stream is not JSON, so it never comes here."""
    chat.named(reading, event)
    for choice in event.get("choices") or ():
        reading.parts.append(text(choice.get("text")) or "")
        chat.ended(reading, choice)
    return False
