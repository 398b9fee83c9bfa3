"""Size of what searches at random: short in `make test`, long in `make soak`."""

from __future__ import annotations

import os

SOAK = "BAKEOFF_SOAK" in os.environ


def examples(short: int) -> int:
    """Examples that hypothesis tries: `short`, and fifty times as many in the soak."""
    return 50 * short if SOAK else short
