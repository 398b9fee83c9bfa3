"""What a merge queue says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.engine.events import JobEvent


@dataclass(slots=True)
class QueueSaid(JobEvent):
    """A conflict that was predicted, or why something is tested; in words."""

    text: str = ""
