"""What an agent's call cost, where its CLI tells tokens and no money: by the user's prices, else by genai-prices."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff.agent.entry import Entry
from bakeoff.model.prices import price
from bakeoff.model.protocol import Usage


def cost_of(entry: Entry, model: str | None, usage: Mapping[str, int] | None) -> float | None:
    """USD for `usage`, in terms of `events.USAGE_KEYS`; None where it is not known, never 0 for that."""
    known = usage or {}
    tokens = Usage(known.get("input_tokens"), known.get("output_tokens"), known.get("cached_input_tokens"))
    return price(tokens, model or "", None, entry.prices)


def tells_cost(entry: Entry, model: str | None) -> bool:
    """Whether it can be known what a call costs, when it has ended."""
    one = {"input_tokens": 1, "output_tokens": 1}
    return entry.reports_cost or (entry.reports_usage and cost_of(entry, model, one) is not None)
