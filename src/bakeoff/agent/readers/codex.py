"""Events of `codex exec --json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.agent.events import USAGE_KEYS, Family, Reading, count, part, session, words


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event."""
    match event.get("type"):
        case "thread.started":
            reading.session_id = session(event.get("thread_id")) or reading.session_id
        case "turn.started":  # what an earlier turn said of its end is not the end
            reading.succeeded = None
        case "item.completed":
            item = part(event, "item")
            if item.get("type") == "agent_message":
                reading.text = words(item.get("text")) or reading.text
        case "error":  # also said of each reconnection, after which the turn may well complete
            reading.warn(words(event.get("message")) or "error")
        case "turn.completed":
            usage = part(event, "usage")
            reading.spend(**{name: count(usage.get(name)) for name in USAGE_KEYS})
            reading.turns = (reading.turns or 0) + 1
            reading.end(True)
        case "turn.failed":
            reading.end(False, words(part(event, "error").get("message")))


FAMILY = Family(read)
