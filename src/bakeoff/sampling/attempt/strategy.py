"""Which attempts are made: lanes that repair, until one passes; with scores, until each lane has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bakeoff.model.protocol import Model
from bakeoff.sampling.repair import RepairTemplateStrategy
from bakeoff.sampling.result import Attempt
from bakeoff.sampling.sampler import Sampler
from bakeoff.sampling.strategy import Mode


class AttemptStrategy(RepairTemplateStrategy):
    """`concurrency_budget` lanes of one attempt and up to `loop_budget - 1` repairs of it.

    Args:
        loop_budget, concurrency_budget, mode: see `SamplingStrategy`.
        compare: the first that passes does not end the search: each lane goes on until it passes, and of those that
            pass the one with the highest score wins; of equal ones the first.
    """

    def __init__(
        self,
        *,
        loop_budget: int = 1,
        concurrency_budget: int = 1,
        mode: Mode = "deterministic",
        compare: bool = False,
    ) -> None:
        super().__init__(loop_budget=loop_budget, concurrency_budget=concurrency_budget, mode=mode)
        self.compare = compare

    def accept(self, attempt: Attempt) -> bool:
        """See `SamplingStrategy.accept`."""
        return not self.compare and super().accept(attempt)

    def lane_maker(self, sampler: Sampler, model: Model | None = None) -> Callable[[int], Any]:
        """Lanes that end when they have passed."""
        make = super().lane_maker(sampler, model)
        done: set[int] = set()

        async def attempt(rank: int) -> Attempt | None:
            lane = rank % sampler.concurrency_budget
            if lane in done:
                return None
            made: Attempt | None = await make(rank)
            if made is not None and made.status == "passed":
                done.add(lane)
            return made

        return attempt

    async def choose(self, sampler: Sampler) -> Attempt | None:
        """See `SamplingStrategy.choose`."""
        passed = [attempt for attempt in sampler.attempts.values() if attempt.status == "passed"]
        if not passed:
            return await super().choose(sampler)
        return min(passed, key=lambda attempt: (-(attempt.score or 0.0), attempt.round, attempt.lane))
