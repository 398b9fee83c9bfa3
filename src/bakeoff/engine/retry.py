"""When a failed piece of work is tried again, and after how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from bakeoff.engine.record import Outcome, Status


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry policy.

    Attributes:
        attempts: how often the work is tried in all.
        delay: seconds before the second try.
        backoff: what the delay is multiplied with from try to try.
        max_delay: seconds the delay never exceeds.
        jitter: share of the delay, 0 to 1, that is drawn at random so that siblings do not return together.
        on: kinds of failure that are tried again; empty for all of them.
    """

    attempts: int = 1
    delay: float = 1.0
    backoff: float = 2.0
    max_delay: float = 60.0
    jitter: float = 0.25
    on: tuple[str, ...] = ()

    def wants(self, outcome: Outcome) -> bool:
        """Whether an outcome is a failure of a kind that is tried again."""
        return outcome.status is Status.FAILED and (not self.on or outcome.kind in self.on)

    def delays(self, random: Random) -> Iterator[float]:
        """Seconds to wait before the second try, the third, and so on: `attempts - 1` of them."""
        delay = self.delay
        for _ in range(self.attempts - 1):
            bounded = min(delay, self.max_delay)
            yield bounded * (1 - self.jitter * random.random())
            delay *= self.backoff


ONCE = Retry()
