"""Announcement of costs, before the first paid call of a run."""

from __future__ import annotations

from collections.abc import Mapping


def announcement(
    calls: str, ceilings: Mapping[str, float], *, turned_away: int = 0, loose: str = "", late: str = "tokens"
) -> str:
    """Announcement of how many paid calls there may be, the budget, and how far it can be overshot.

    Args:
        calls: how many of whom, in words.
        ceilings: the budget, by kind.
        turned_away: further calls in place of one that the model turns away.
        loose: who cannot be held to what, where somebody may spend more money than a call reserves.
        late: what is counted only when a call has ended; empty where nothing is.
    """
    again = f", {turned_away} more in place of each that its model turns away" if turned_away else ""
    amounts = ", ".join(f"{amount:g} {kind}" for kind, amount in ceilings.items())
    budget = f"budget: {amounts}" if amounts else "no budget is set"
    over = ""
    if loose and "usd" in ceilings:
        over = f"; {loose}"
    elif late and "tokens" in ceilings:
        over = f"; {late} are counted when a call has ended, so calls under way may go over"
    return f"{calls}{again}; {budget}{over}"
