"""The trajectory file of mini-swe-agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.agent.events import Family, Reading, count, money, part, parts, words


def read(event: Mapping[str, Any], reading: Reading) -> None:
    """Take the trajectory, which is one document."""
    info = part(event, "info")
    if not info:
        return
    statistics = part(info, "model_stats")
    messages = parts(event, "messages")
    usages = [part(message, "extra", "response", "usage") for message in messages]
    if any(usages):
        reading.spend(
            input_tokens=sum(count(usage.get("prompt_tokens")) or 0 for usage in usages),
            output_tokens=sum(count(usage.get("completion_tokens")) or 0 for usage in usages),
        )
    reading.price(money(statistics.get("instance_cost")))
    reading.turns = count(statistics.get("api_calls"))
    status = words(info.get("exit_status")) or "no exit status"
    said = [words(message.get("content")) for message in messages if message.get("role") == "assistant"]
    # Its models may call tools and never say a word.
    reading.text = words(info.get("submission")) or next(filter(None, reversed(said)), status)
    reading.end(status == "Submitted", f"it ended with {status}", "budget" if status == "LimitsExceeded" else None)


FAMILY = Family(read, from_artifact=True)
