"""Price of a generation: by the user's own prices, else by genai-prices where it is installed."""

from __future__ import annotations

from bakeoff.model.protocol import Usage


def price(
    usage: Usage, model: str, base_url: str | None, own: tuple[float | None, float | None] = (None, None)
) -> float | None:
    """USD for `usage`, or None where it is not known: never 0 for want of knowledge.

    Args:
        usage: what was used.
        model: the model's name at its endpoint.
        base_url: the endpoint; None where it is not known.
        own: USD for a million tokens of input and of output that the user named; both or they do not count.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    if own[0] is not None and own[1] is not None:
        return (usage.input_tokens * own[0] + usage.output_tokens * own[1]) / 1e6
    return _listed(usage, model, base_url)


def _listed(usage: Usage, model: str, base_url: str | None) -> float | None:
    if not model:
        return None
    try:
        from genai_prices import Usage as ListedUsage
        from genai_prices import calc_price
    except ImportError:
        return None
    used = ListedUsage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=usage.cached_tokens
    )
    try:
        return float(calc_price(used, model, provider_api_url=base_url).total_price)
    except (LookupError, ValueError):
        return None
