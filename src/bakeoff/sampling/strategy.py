"""Strategies: which attempts are made, what each builds on, and which of them is chosen."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, Literal

from bakeoff.engine.race import race
from bakeoff.model.protocol import Model, Request
from bakeoff.sampling.action import Ask, Ticket
from bakeoff.sampling.feedback import best_failure, feedback
from bakeoff.sampling.result import Attempt
from bakeoff.sampling.sampler import Sampler

Mode = Literal["deterministic", "fastest"]
MOST_ATTEMPTS = 100_000
"""Attempts of one sampling at most; each takes memory as soon as it may begin."""


def check_budget(name: str, value: object) -> int:
    """`value`, which is a budget.

    Raises:
        ValueError: it is no whole number of at least 1.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    return value


class SamplingStrategy:
    """The protocol of strategies: override `search`, or only `revise`, `accept` or `choose`.

    A strategy has no state of its own: one object may serve any number of samplings at once.

    Args:
        loop_budget: rounds; at least 1.
        concurrency_budget: most attempts at work at once; there are `loop_budget * concurrency_budget` at most.
        mode: `deterministic`: what is chosen does not depend on who is fastest; once an attempt passes, only those
            before it are waited for. `fastest`: the first that passes is chosen.

    Attributes:
        chained: attempts of a lane build on one another. Otherwise all draw on one pool, and no straggler keeps
            others from their share.
        repair: how an attempt builds on the one before it, for events.
        brings_model: it has models of its own.

    Raises:
        ValueError: a budget is no whole number of at least 1, both are too much together, or the mode is unknown.
    """

    chained = False
    repair = ""
    brings_model = False

    def __init__(self, *, loop_budget: int = 1, concurrency_budget: int = 1, mode: Mode = "deterministic") -> None:
        self.loop_budget = check_budget("loop_budget", loop_budget)
        self.concurrency_budget = check_budget("concurrency_budget", concurrency_budget)
        if loop_budget * concurrency_budget > MOST_ATTEMPTS:
            raise ValueError(
                f"loop_budget {loop_budget} x concurrency_budget {concurrency_budget} is above {MOST_ATTEMPTS:,}, "
                "the most attempts of one sampling"
            )
        if mode not in ("deterministic", "fastest"):
            raise ValueError(f"mode is deterministic or fastest, not {mode!r}")
        self.mode: Mode = mode

    @property
    def identity(self) -> str:
        """Identity by which a durable run finds attempts, besides their action: all else that they depend on."""
        return type(self).__name__

    def requirements(self, given: list[Any]) -> list[Any]:
        """All requirements: the given ones, and those of the strategy itself."""
        return given

    async def search(self, sampler: Sampler) -> Attempt | None:
        """Make attempts until one is accepted; that one, or None to have `choose` choose among all."""
        make = self.lane_maker(sampler)
        count = sampler.loop_budget * sampler.concurrency_budget
        ended = await race(
            count,
            make,
            lambda attempt: attempt is not None and self.accept(attempt),
            bound=sampler.concurrency_budget,
            mode=self.mode,
            fixed_places=self.chained,
        )
        return None if ended.winner is None else ended.results[ended.winner]

    def accept(self, attempt: Attempt) -> bool:
        """Whether an attempt ends the search."""
        return attempt.status == "passed"

    async def choose(self, sampler: Sampler) -> Attempt | None:
        """The winner, when the search ended without one: here the first that passed, else the best failure."""
        passed = [attempt for attempt in sampler.attempts.values() if attempt.status == "passed"]
        if passed:
            return min(passed, key=lambda attempt: (attempt.round, attempt.lane) if self.chained else (attempt.id, 0))
        return best_failure(sampler.attempts.values())

    def revise(self, sampler: Sampler, failed: Attempt, said: str) -> Request | None:
        """The request of the attempt after `failed` in its lane, where attempts build on one another."""
        return failed.request

    def lane_maker(self, sampler: Sampler, model: Model | None = None) -> Callable[[int], Any]:
        """A function that makes the attempt of a rank: ranks go round by round, and lane by lane in a round."""
        if self.chained:
            return _Chains(self, sampler, model).attempt
        return _Pool(sampler).attempt


class _Pool:
    """Independent attempts: the next ticket goes to whichever lane is free."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self.free = list(range(sampler.concurrency_budget))
        self.rounds = [0] * sampler.concurrency_budget

    async def attempt(self, rank: int) -> Attempt | None:
        lane = heapq.heappop(self.free)
        self.rounds[lane] += 1
        try:
            return await self.sampler.attempt(Ticket(rank + 1, lane, self.rounds[lane] - 1))
        finally:
            heapq.heappush(self.free, lane)


class _Chains:
    """Lanes in which each attempt builds on the last one that was judged, or whose agent changed nothing."""

    def __init__(self, strategy: SamplingStrategy, sampler: Sampler, model: Model | None) -> None:
        self.strategy, self.sampler, self.model = strategy, sampler, model
        self.last: dict[int, Attempt] = {}

    async def attempt(self, rank: int) -> Attempt | None:
        sampler = self.sampler
        round_, lane = divmod(rank, sampler.concurrency_budget)
        ticket = Ticket(lane * sampler.loop_budget + round_ + 1, lane, round_, model=self.model)
        failed = self.last.get(lane)
        if failed is not None:
            ticket.previous, ticket.feedback = failed, feedback(sampler.requirements, failed)
            if isinstance(sampler.action, Ask):
                ticket.request = self.strategy.revise(sampler, failed, ticket.feedback)
            if sampler.stopped is None:
                await sampler.repaired(self.strategy.repair, ticket)
        attempt = await sampler.attempt(ticket)
        if attempt is not None and (attempt.judged or _changed_nothing(attempt)):
            self.last[lane] = attempt
        return attempt


def _changed_nothing(attempt: Attempt) -> bool:
    """Whether it worked, and left nothing to judge: the next one is told, in the same session where that can go on."""
    return attempt.error is not None and attempt.error.kind == "empty" and bool(attempt.receipt)
