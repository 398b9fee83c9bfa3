"""Union: where both sides added lines to a list, all of them stay, ours first."""

from __future__ import annotations

from bakeoff.plan.merge.hunks import Texts, favoured


def union(texts: Texts) -> bytes:
    """The lines of both sides wherever they conflict. Blocks."""
    return favoured(texts, "union")
