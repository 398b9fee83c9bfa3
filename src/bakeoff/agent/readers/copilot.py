"""Events of GitHub Copilot CLI's `--output-format json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.agent.events import Family, Reading, part, session, words


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event."""
    data = part(event, "data")
    match event.get("type"):
        case "assistant.message":
            reading.text = words(data.get("content")) or reading.text
        case "session.error" | "model.call_failure":
            reading.warn(words(data.get("message")) or words(data.get("errorMessage")) or "error")
        case "result":
            reading.session_id = session(event.get("sessionId")) or reading.session_id
            reading.end(event.get("exitCode") == 0)


FAMILY = Family(read)
