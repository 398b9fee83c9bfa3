"""Cost of an agent's call, where its CLI tells tokens and no money: by the user's prices, else by genai-prices."""

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


def unknown_cost(entry: Entry) -> str:
    """Why it cannot be known, and what to set."""
    said = f"{entry.name} does not report what it costs"
    where = f"[tool.bakeoff.agents.{entry.name}]"
    if entry.reports_usage:
        return f"{said}; set price_in and price_out in {where}"
    return f"{said}, nor how many tokens it used; set `events` in {where} to the format of a CLI that does"
