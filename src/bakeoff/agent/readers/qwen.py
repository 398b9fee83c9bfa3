"""Events of Qwen Code: Claude Code's, but a failed request ends as a success whose text is the error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.agent.events import Family, Reading
from bakeoff.agent.readers import claude

_FAILED = "[API Error: "


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event."""
    claude.read(event, reading)
    _, failed, why = reading.text.rstrip().partition(_FAILED)
    if failed and why.endswith("]") and reading.succeeded and event.get("type") == "result":
        reading.end(False, f"API Error: {why[:-1]}")


FAMILY = Family(read)
