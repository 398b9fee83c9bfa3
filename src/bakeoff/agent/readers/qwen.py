"""Events of Qwen Code: Claude Code's, but a failed request ends as a success whose text is the error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bakeoff.agent.events import Reading
from bakeoff.agent.readers import Family, claude

_FAILED = re.compile(r"\[API Error: (.*)\]\s*\Z", re.DOTALL)


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take one event."""
    claude.read(event, reading)
    failed = _FAILED.search(reading.text) if reading.succeeded and event.get("type") == "result" else None
    if failed is not None:
        reading.end(False, f"API Error: {failed[1]}")


FAMILY = Family(read)
