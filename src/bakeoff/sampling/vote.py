"""Majority vote: the answer that most attempts agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Literal

from bakeoff.engine.race import RaceResult, race
from bakeoff.judge.threads import beside_loop
from bakeoff.sampling.result import Attempt
from bakeoff.sampling.sampler import Sampler
from bakeoff.sampling.similarity import exact, normalised, numeric, similarities
from bakeoff.sampling.strategy import Mode, SamplingStrategy, check_budget

Similarity = Literal["exact", "normalised", "numeric", "rouge_l"] | Callable[[Any, Any], float]


class MajorityVotingStrategy(SamplingStrategy):
    """Independent attempts vote; what fails a requirement has a vote only when nothing passes.

    Each answer is supported by those that are like it; the one with most support wins, of equal ones the one with
    the lowest id.

    Args:
        loop_budget, concurrency_budget: there are `loop_budget * concurrency_budget` votes at most.
        mode: `fastest` ends in the middle of a round when no vote that is still out can change the winner.
        similarity: `exact`; `normalised` (case, space and punctuation do not count); `numeric` (the last number in
            it); `rouge_l` (common words in order); or a function of two outputs that gives 0 to 1.
        threshold: share of the votes, above 0 to 1, that decides the vote early. Votes are asked for in rounds of
            `min_votes`, twice as many, and so on. None: in two rounds, the second only when the first, a bare
            majority of all, does not agree.
        min_votes: least votes for an early end.
        digits: decimals that count for `numeric`.

    Raises:
        ValueError: an argument is out of its range.
    """

    def __init__(
        self,
        *,
        loop_budget: int = 1,
        concurrency_budget: int = 1,
        mode: Mode = "deterministic",
        similarity: Similarity = "exact",
        threshold: float | None = None,
        min_votes: int = 4,
        digits: int = 6,
    ) -> None:
        super().__init__(loop_budget=loop_budget, concurrency_budget=concurrency_budget, mode=mode)
        keys = {"exact": exact, "normalised": normalised, "numeric": numeric(digits)}
        if not callable(similarity) and similarity != "rouge_l" and similarity not in keys:
            raise ValueError(f"similarity is {', '.join(keys)}, rouge_l or a function, not {similarity!r}")
        if threshold is not None and not 0 < threshold <= 1:
            raise ValueError(f"threshold is a share above 0 and at most 1, not {threshold!r}")
        self.measure = similarity if callable(similarity) else None
        self.key = None if callable(similarity) or similarity == "rouge_l" else keys[similarity]
        self.threshold = threshold
        self.min_votes = check_budget("min_votes", min_votes)

    async def search(self, sampler: Sampler) -> Attempt | None:
        """Ask for votes, round by round, until they are decided."""
        total = sampler.loop_budget * sampler.concurrency_budget
        make = self.lane_maker(sampler)
        first = 0
        for last in self._rounds(total):
            ended: RaceResult[Attempt | None] = await race(
                last - first,
                _later(make, first),
                lambda _: self.mode == "fastest" and self._certain(sampler, total),
                bound=sampler.concurrency_budget,
                mode=self.mode,
            )
            first = last
            if ended.winner is not None or sampler.stopped is not None or await self._decided(sampler, total):
                break
        return None

    def _rounds(self, total: int) -> Iterator[int]:
        """Numbers of votes there are after each round."""
        if self.threshold is not None:
            size = self.min_votes
            while size < total:
                yield size
                size *= 2
        elif self.key is not None and total > 2:
            yield total // 2 + 1
        yield total

    async def _decided(self, sampler: Sampler, total: int) -> bool:
        voters = [attempt for attempt in _voters(sampler) if attempt.status == "passed"]
        if self.threshold is None or len(voters) < self.min_votes:
            return self._certain(sampler, total)
        most = max(await self._support(voters))
        return most >= self.threshold * len(voters) - 1e-9 or self._certain(sampler, total)

    def _certain(self, sampler: Sampler, total: int) -> bool:
        """Whether no vote that is still out can change the winner."""
        if self.key is None:
            return False
        counts = Counter(self.key(attempt.output) for attempt in _voters(sampler) if attempt.status == "passed")
        (_, most), (_, next_most) = (*counts.most_common(2), ("", 0), ("", 0))[:2]
        ended = sum(attempt.status != "cancelled" for attempt in sampler.attempts.values())
        return most > next_most + total - ended

    async def _support(self, voters: list[Attempt]) -> list[float]:
        """Support of each voter's answer in votes; likeness counts in part."""
        if self.key is not None:
            keys = [self.key(attempt.output) for attempt in voters]
            counts = Counter(keys)
            return [float(counts[key]) for key in keys]
        stop: list[bool] = []
        outputs = [attempt.output for attempt in voters]
        try:
            return await beside_loop(similarities, outputs, self.measure, stop)
        finally:
            stop.append(True)  # the thread ends soon, also when this was cancelled

    async def choose(self, sampler: Sampler) -> Attempt | None:
        """The answer with most support."""
        voters = _voters(sampler)
        if not voters:
            return None
        support = await self._support(voters)
        best = max(range(len(voters)), key=lambda place: (support[place], -place))
        sampler.facts |= {"votes": len(voters), "support": support[best]}
        return voters[best]


def _voters(sampler: Sampler) -> list[Attempt]:
    """Whose votes count, by id: those that pass, or all that were judged where none does."""
    judged = [sampler.attempts[number] for number in sorted(sampler.attempts) if sampler.attempts[number].judged]
    return [attempt for attempt in judged if attempt.status == "passed"] or judged


def _later(make: Callable[[int], Any], start: int) -> Callable[[int], Awaitable[Attempt | None]]:
    async def voter(rank: int) -> Attempt | None:
        return await make(start + rank)  # type: ignore[no-any-return]

    return voter
