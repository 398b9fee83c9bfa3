"""Events of `opencode run --format json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.agent.events import Family, Reading, count, money, part, session, words

_REASONS = {
    "length": ("the answer was cut at the model's output limit", None),
    "content-filter": ("the model refused", "refusal"),
    "error": (None, None),
}
"""Reasons after which it ends and has failed; after others, such as `tool-calls` and `unknown`, it goes on."""


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event."""
    reading.session_id = session(event.get("sessionID")) or reading.session_id
    body = part(event, "part")
    match event.get("type"):
        case "text":
            said = words(body.get("text"))
            if said is not None:
                reading.add(f"\n{said}" if reading.text or reading.more else said)
        case "tool_use":
            reading.say("")
        case "step_finish":
            _finish(body, reading)
        case "error":
            error = part(event, "error")
            reading.end(False, words(part(error, "data").get("message")) or words(error.get("name")))


def _finish(body: Mapping[str, Any], reading: Reading) -> None:
    """A step ended; every step tells its own tokens and cost."""
    tokens = part(body, "tokens")
    cache = part(tokens, "cache")
    before = reading.usage or {}
    step = {
        "input_tokens": [tokens.get("input"), cache.get("read"), cache.get("write")],
        "cached_input_tokens": [cache.get("read")],
        "cache_write_input_tokens": [cache.get("write")],
        "output_tokens": [tokens.get("output"), tokens.get("reasoning")],
        "reasoning_output_tokens": [tokens.get("reasoning")],
    }
    if tokens:
        reading.spend(**{name: before.get(name, 0) + sum(count(n) or 0 for n in found) for name, found in step.items()})
    reading.price((reading.usd or 0.0) + (money(body.get("cost")) or 0.0))
    reading.turns = (reading.turns or 0) + 1
    reason = body.get("reason")
    if reason == "stop":
        reading.end(True)
    elif isinstance(reason, str) and reason in _REASONS:
        reading.end(False, *_REASONS[reason])


FAMILY = Family(read)
