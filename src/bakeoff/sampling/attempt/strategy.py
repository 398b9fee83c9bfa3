"""Strategies over agents: lanes that repair, until one passes; with scores, until each lane has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bakeoff.engine.record import Outcome, Status
from bakeoff.errors import BakeoffError
from bakeoff.judge.timing.bench_lock import LANE as BENCH
from bakeoff.judge.timing.in_slots import SlotRace
from bakeoff.judge.timing.speed import SOUND, Speed
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
        return _first(passed) if passed else await super().choose(sampler)


def _first(passed: Iterable[Attempt]) -> Attempt | None:
    """The one with the highest score; of equal ones the first."""
    return min(passed, key=lambda attempt: (-(attempt.score or 0.0), attempt.round, attempt.lane), default=None)


class BenchStrategy(AttemptStrategy):
    """The same, after which what passes is raced: the fastest that is faster than the snapshot wins.

    Where none is, the winner is the one that would win without a race, of those whose command did as it should. Its
    nodes are `bench`, and a decision for each verdict of the race, so that an interrupted race goes on with those that
    are left.
    """

    def __init__(self, timing: SlotRace, lanes: tuple[str, ...] = (), **more: Any) -> None:
        super().__init__(compare=True, **more)
        self.timing = timing
        self.lanes = lanes

    async def choose(self, sampler: Sampler) -> Attempt | None:
        """See `SamplingStrategy.choose`.

        Raises:
            BakeoffError: the race failed.

        Passes on TimingError: nothing can be measured.
        """
        commits = {
            str(attempt.id): str(attempt.receipt["judged"])
            for attempt in sampler.attempts.values()
            if attempt.status == "passed"
        }
        if not commits:
            return await super().choose(sampler)
        known, place = sampler.run.history.decisions, f"{sampler.prefix}timed:{'+'.join(commits)}/"

        async def told(name: str, speed: Speed) -> None:
            await sampler.run.decide(f"{place}{name}", speed.to_json)

        async def work(_: int) -> Outcome:
            kept = {name: Speed.from_json(known[place + name]) for name in commits if place + name in known}
            raced = await self.timing.race(commits, kept=kept, told=told)
            speeds = {name: speed.to_json() for name, speed in raced.speeds.items()}
            return Outcome(output={"command": self.timing.command, "speeds": speeds, "winner": raced.winner})

        record = await sampler.run.leaf(f"{sampler.prefix}{BENCH}", BENCH, work, lanes=(BENCH, *self.lanes))
        if record.status is not Status.COMPLETED:
            raise BakeoffError(record.error or "the command could not be timed")
        won, speeds = record.output["winner"], record.output["speeds"]
        if won is not None:
            return sampler.attempts[int(won)]
        return _first(sampler.attempts[int(name)] for name in commits if speeds[name]["verdict"] in SOUND)
