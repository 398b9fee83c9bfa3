"""Race of contenders against the original: calibrated, dropped round by round, and the best one measured again.

The rules are the same for whatever is measured. A `Sampler` takes the samples: of versions of a function
(`functions.py`), or of whole commands (`commands.py`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Generic, Protocol, TypeVar

import anyio
import anyio.to_thread

from bakeoff.judge.timing.bench_lock import BLOCK
from bakeoff.judge.timing.block import Blocks
from bakeoff.judge.timing.elimination import TOO_SLOW, Elimination
from bakeoff.judge.timing.evidence import DECIDE
from bakeoff.judge.timing.parent import OriginalChangedError, TimingError
from bakeoff.judge.timing.speed import FASTER, NOT_FASTER, UNDECIDED, Calibration, Speed, Verdict
from bakeoff.judge.timing.statistics import MedianSequence
from bakeoff.judge.timing.undecided import NEEDED, in_words, seconds_needed

SELECTION = 0.6
"""Share of the time that the selection may take; the rest is for measuring the finalist again."""
RESTARTS = 3
"""Restarts of a race at most, each without an input on which the original gave another result."""
TIME_OVER = "the time is over"


@dataclass(frozen=True, slots=True)
class Options:
    """Thresholds and limits of a race.

    Attributes:
        min_speedup: what the lower bound must be above.
        seconds: of measuring, starting and waiting for others left out; what is not decided then is undecided.
        seed: of everything that is left to chance.
        fork_seconds: that one fork, or one run of a command, may take before it counts as hung.
        memory: measure peak memory of what is faster, too.
        earlier: races of these that ended undecided: each halves what a decision may err, as it is one more chance.
    """

    min_speedup: float = 1.05
    seconds: float = 30.0
    seed: int = 0
    fork_seconds: float = 30.0
    memory: bool = False
    earlier: int = 0

    @property
    def alpha(self) -> float:
        """Error rate of a decision."""
        return DECIDE * 0.5**self.earlier

    def __post_init__(self) -> None:
        if not self.min_speedup > 0:
            raise ValueError(f"min_speedup must be above 0, not {self.min_speedup}")
        if not self.seconds > 0:
            raise ValueError(f"seconds must be above 0, not {self.seconds}")


DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class Raced:
    """Result of a race.

    Attributes:
        speeds: of every contender.
        winner: who is faster by the re-measurement; None where nobody is.
        calibration: of the machine; None where all verdicts were kept.
    """

    speeds: Mapping[str, Speed]
    winner: str | None
    calibration: Calibration | None

    @classmethod
    def of(cls, speeds: Mapping[str, Speed], calibration: Calibration | None) -> Raced:
        """With the winner that follows from the verdicts."""
        won = {
            name: speed.speedup.estimate
            for name, speed in speeds.items()
            if speed.verdict == FASTER and speed.remeasured and speed.speedup is not None
        }
        return cls(speeds, max(won, key=won.__getitem__, default=None), calibration)


Told = Callable[[str, Speed], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RaceRecord:
    """Record of a race, so that one that was interrupted goes on with the contenders that are left.

    Attributes:
        kept: verdicts of the race that was interrupted; these contenders are not measured again.
        told: awaited with each verdict as soon as it is final, so that it can be kept.
    """

    kept: Mapping[str, Speed] = field(default_factory=dict)
    told: Told | None = None


NO_RECORD = RaceRecord()


class Phase(Enum):
    """Phase of a race."""

    SELECTION = "selection"
    """All contenders, until the rest is not worth telling apart."""
    ALONE = "alone"
    """The only contender: nothing was selected, so what the machine was calibrated with serves."""
    AGAIN = "again"
    """One contender that was selected, by samples that had no part in that."""


class Pairs(Protocol):
    """Pairs of samples, one contender's beside the original's, and the verdict that follows from them.

    Attributes:
        ratio: logarithms of how many times faster the contender is.
    """

    ratio: MedianSequence

    def decide(self, floor: float) -> Verdict | None:
        """Verdict, as soon as there is one; `floor` is the logarithm of the least speed-up that counts."""

    def dropped(self, floor: float) -> Verdict | None:
        """Verdict that ends its part in a selection; None while it may still win."""

    def missing(self, floor: float) -> str:
        """Reason why nothing is decided when the time is over."""


PairsT = TypeVar("PairsT", bound=Pairs)
RoundT = TypeVar("RoundT")


class Sampler(Protocol[PairsT, RoundT]):
    """Takes samples of contenders, interleaved with the original's; what a race measures is known here alone.

    Those that have bodies say what holds where a kind of contender says nothing else. `begin`, `rounds`, `add` and
    `adapt` block, within a block's time; `calibrate` and `confirm` take blocks themselves.

    Attributes:
        blocks: of the race.
        insists: a pair of each counts, however short the time is; else one round is taken, if that can be counted.
        calibration: of the machine, once `calibrate` has ended.
    """

    blocks: Blocks
    insists: bool = False
    calibration: Calibration | None = None

    async def calibrate(self) -> Mapping[str, Verdict]:
        """Run the original, and measure it against itself; verdicts on contenders that failed before they were timed.

        Raises:
            OriginalChangedError: the original does not do what it did, which `without` may mend.
            TimingError: nothing can be measured.
        """

    def without(self, changed: OriginalChangedError) -> bool:
        """Leave out the input that the original answers anew; whether the race can begin again then."""
        return False

    def begin(self, phase: Phase) -> None:
        """Get ready for a phase."""
        return

    def pairs(self, alpha: float) -> PairsT:
        """No pairs yet, of the phase; `alpha` is the error rate of the decision."""

    def rounds(self, names: Sequence[str], until: float) -> Sequence[RoundT]:
        """Take rounds, one at least, of the original and of these; none where load disturbed them.

        Args:
            names: of contenders.
            until: when to stop, by `time.monotonic`.

        Raises:
            OriginalChangedError: the original does not do what it did.
        """

    def add(self, pairs: PairsT, taken: RoundT, name: str) -> float | None:
        """Add a contender's pair of a round; the logarithm of its ratio, None where that does not count."""

    def adapt(self, pairs: PairsT, floor: float) -> None:
        """Have samples do more work, where that is what a decision misses."""
        return

    async def confirm(self, name: str, speed: Speed) -> Speed:
        """Verdict on a contender that is faster, after what is looked at of such alone."""

    def speed(self, verdict: Verdict, pairs: PairsT, *, remeasured: bool) -> Speed:
        """All that is known of a contender, with its receipt."""

    def untimed(self, verdict: Verdict) -> Speed:
        """The same of one without any pairs."""

    def close(self) -> None:
        """End all processes. Blocks."""


async def run_race(
    make: Callable[[Sequence[str]], Sampler[PairsT, RoundT]],
    names: Iterable[str],
    options: Options,
    record: RaceRecord,
) -> Raced:
    """Race contenders until each has its verdict; cancelled, all processes are gone before this returns.

    Args:
        make: gives the sampler for the contenders whose verdicts are not kept; it is closed.
        names: of all contenders.
        options: see `Options`.
        record: see `RaceRecord`.

    Passes on TimingError: nothing can be measured.
    """
    speeds, names = dict(record.kept), list(names)
    left = [name for name in names if name not in speeds]
    calibration = None
    if left:
        race = _Race(make(left), left, options, record.told)
        try:
            await race.run()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(race.sampler.close)
        speeds |= race.speeds
        calibration = race.sampler.calibration
    return Raced.of({name: speeds[name] for name in names}, calibration)


class _Race(Generic[PairsT, RoundT]):
    """One race under way."""

    def __init__(
        self, sampler: Sampler[PairsT, RoundT], names: Sequence[str], options: Options, told: Told | None
    ) -> None:
        self.sampler = sampler
        self.blocks = sampler.blocks
        self.names = list(names)
        self.options = options
        self.floor = math.log(options.min_speedup)
        self.told = told
        self.speeds: dict[str, Speed] = {}
        self.so_far: dict[str, Speed] = {}

    @property
    def open(self) -> list[str]:
        """Contenders without a verdict."""
        return [name for name in self.names if name not in self.speeds]

    async def run(self) -> None:
        """Race until every contender has its verdict; restart without inputs on which the original varies.

        Raises:
            TimingError: nothing can be measured.
        """
        for turn in range(RESTARTS + 1):
            try:
                return await self.compete()
            except OriginalChangedError as changed:
                failure = changed
                if not self.sampler.without(changed):
                    break
            except TimingError:
                if not turn:
                    raise
                break
        for name in self.open:
            await self.settle(name, self.sampler.untimed((UNDECIDED, str(failure))))

    async def compete(self) -> None:
        """Select among what is open, and measure the best again.

        Passes on OriginalChangedError: the original no longer does what it did.
        """
        for name, verdict in (await self.sampler.calibrate()).items():
            self.names.remove(name)
            await self.settle(name, self.sampler.untimed(verdict))
        alone = len(self.open) == 1
        finalists = self.open if alone else await self.select()
        won = None
        for attempt, name in enumerate(finalists):
            if won is not None:
                await self.settle(name, self.lost(name, won))
            elif await self.final(name, Phase.ALONE if alone else Phase.AGAIN, self.options.alpha / 2**attempt):
                won = name

    async def select(self) -> list[str]:
        """Race all; who may be measured again, the best first. The verdicts on the others are final.

        Who was dropped for a faster rival comes after those who were not: the rival may turn out to cheat.
        """
        names = self.open
        self.sampler.begin(Phase.SELECTION)
        contest = Elimination(names, self.floor)
        pairs = {name: self.sampler.pairs(self.options.alpha / len(self.names)) for name in names}

        def some() -> None:
            end = min(self.blocks.until(SELECTION), time.monotonic() + BLOCK)
            while True:
                for taken in self.sampler.rounds(list(contest.alive), end):
                    self.take(taken, pairs, contest)
                if contest.settled or time.monotonic() >= end:
                    return

        while not contest.settled and (
            time.monotonic() < self.blocks.until(SELECTION)
            or (self.sampler.insists and not any(map(len, contest.ratios.values())))
        ):
            await self.blocks.block(some)
            for name in [name for name in contest.out if name not in self.speeds and name not in contest.beaten]:
                await self.settle(name, self.selected(pairs[name], contest.out[name]))
        left = [*contest.alive, *contest.beaten]
        self.so_far = {name: self.selected(pairs[name], contest.out.get(name, TIME_OVER)) for name in left}
        fast = [name for name in left if pairs[name].ratio.median > self.floor]
        for name in left:
            if name not in fast:
                await self.settle(name, self.so_far[name])
        return sorted(fast, key=lambda name: (name in contest.beaten, -pairs[name].ratio.median))

    def lost(self, name: str, won: str) -> Speed:
        """Verdict on one that is not measured again, as another won."""
        so_far = self.so_far[name]
        faster = so_far.speedup is not None and so_far.speedup.low > self.options.min_speedup
        how = "faster than the original by its own clock, and not measured further" if faster else "not measured again"
        return replace(so_far, detail=f"{how}: candidate {won} won")

    def take(self, taken: RoundT, pairs: Mapping[str, PairsT], contest: Elimination) -> None:
        """Add a round of the selection, and drop who cannot win."""
        ratios = {}
        for name in list(contest.alive):
            ratio = self.sampler.add(pairs[name], taken, name)
            if ratio is not None:
                ratios[name] = ratio
            if (verdict := pairs[name].dropped(self.floor)) is not None:
                contest.drop(name, verdict[1])
        contest.add(ratios)

    def selected(self, pairs: PairsT, why: str) -> Speed:
        """Verdict by the selection on one that was dropped, or that nothing was decided on."""
        verdict = pairs.decide(self.floor) or (NOT_FASTER if why == TOO_SLOW else UNDECIDED, why)
        speed = self.sampler.speed(verdict, pairs, remeasured=False)
        return self.with_need(speed, pairs, self.options.alpha / len(self.names)) if why == TIME_OVER else speed

    async def final(self, name: str, phase: Phase, alpha: float) -> bool:
        """Measure one contender apart from the selection; whether it is faster. `alpha` is of the decision."""
        found: list[PairsT] = []

        def some() -> bool:
            if not found:
                self.sampler.begin(phase)
                found.append(self.sampler.pairs(alpha))
            return self.decide(name, found[0])

        decided = False
        while not decided and (
            not found or time.monotonic() < self.blocks.until() or (self.sampler.insists and not len(found[0].ratio))
        ):
            decided = await self.blocks.block(some)
        pairs = found[0]
        verdict = pairs.decide(self.floor) or (UNDECIDED, pairs.missing(self.floor))
        speed = self.with_need(self.sampler.speed(verdict, pairs, remeasured=True), pairs, alpha)
        if speed.verdict == FASTER:
            speed = await self.sampler.confirm(name, speed)
        await self.settle(name, speed)
        return speed.verdict == FASTER

    def with_need(self, speed: Speed, pairs: PairsT, alpha: float) -> Speed:
        """The verdict, with what would decide it where the time did not suffice."""
        if speed.verdict != UNDECIDED:
            return speed
        needed = seconds_needed(pairs.ratio, alpha, self.floor, self.options.seconds)
        said = in_words(needed, pairs.ratio, self.floor, self.sampler.calibration)
        return replace(speed, detail=f"{speed.detail}: {said}", receipt={**speed.receipt, NEEDED: needed})

    def decide(self, name: str, pairs: PairsT) -> bool:
        """Take rounds of one contender for a block's time; whether that decides it."""
        end = min(self.blocks.until(), time.monotonic() + BLOCK)
        while True:
            for taken in self.sampler.rounds([name], end):
                self.sampler.add(pairs, taken, name)
                if pairs.decide(self.floor) is not None:
                    break
            self.sampler.adapt(pairs, self.floor)
            decided = pairs.decide(self.floor) is not None
            if decided or time.monotonic() >= end:
                return decided

    async def settle(self, name: str, speed: Speed) -> None:
        """Make a verdict final."""
        self.speeds[name] = speed
        if self.told is not None:
            await self.told(name, speed)
