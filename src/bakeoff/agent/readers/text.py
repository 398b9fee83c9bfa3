"""No events: what was printed is the answer, and the exit status decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.agent.events import Family, Reading


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take nothing: JSON that was printed is part of the answer."""


FAMILY = Family(read, has_final=False)
