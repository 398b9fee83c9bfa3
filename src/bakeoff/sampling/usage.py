"""Usage of attempts: sums of what is known, and how often it is not known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bakeoff.model.protocol import Usage


@dataclass(slots=True)
class UsageTotal:
    """Sums over calls.

    Attributes:
        calls: requests made, retries and judges included.
        input_tokens, output_tokens, cached_tokens: as reported.
        usd: as reported; None where no call reported a price.
        unknown: calls whose use nobody reported (aborted ones, mostly): it is not zero, and not in the sums.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = None
    unknown: int = 0

    @property
    def tokens(self) -> int:
        """Input and output together, as far as it is known."""
        return self.input_tokens + self.output_tokens

    def add(self, usage: Usage | None) -> None:
        """Count what a call reported."""
        if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
            self.unknown += 1
        if usage is not None:
            self.input_tokens += usage.input_tokens or 0
            self.output_tokens += usage.output_tokens or 0
            self.cached_tokens += usage.cached_tokens or 0
            if usage.usd is not None:
                self.usd = (self.usd or 0.0) + usage.usd

    def plus(self, other: UsageTotal) -> None:
        """Count what another counted."""
        self.calls += other.calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cached_tokens += other.cached_tokens
        self.unknown += other.unknown
        if other.usd is not None:
            self.usd = (self.usd or 0.0) + other.usd

    def to_json(self) -> list[Any]:
        """As a run keeps it; `UsageTotal(*it)` is the same again."""
        return [self.calls, self.input_tokens, self.output_tokens, self.cached_tokens, self.usd, self.unknown]


def total(parts: Iterable[UsageTotal]) -> UsageTotal:
    """The sum of sums."""
    whole = UsageTotal()
    for part in parts:
        whole.plus(part)
    return whole


def settled(usage: Usage | None) -> dict[str, Any]:
    """Usage that one call is charged with; a kind that is missing counts as it was reserved."""
    charged: dict[str, Any] = {"calls": 1}
    if usage is not None:
        charged |= {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        if usage.input_tokens is not None and usage.output_tokens is not None:
            charged["tokens"] = usage.input_tokens + usage.output_tokens
        elif usage.assumed_tokens is not None:
            charged["assumed"] = {"tokens": usage.assumed_tokens}
        if usage.usd is not None:
            charged["usd"] = usage.usd
    return charged
