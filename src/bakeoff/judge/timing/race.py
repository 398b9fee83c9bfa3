"""Versions of a function against the original: calibrated, raced, and the best one measured again.

raced = await race(place(command), Code("pkg.mod", "function", root), original, candidates, inputs)
raced.winner, raced.speeds["candidate"].speedup
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.to_thread

from bakeoff.judge.timing.bench import Bench
from bakeoff.judge.timing.bench_lock import BLOCK, BenchLock
from bakeoff.judge.timing.block import Blocks
from bakeoff.judge.timing.evidence import DECIDE, Evidence, interval
from bakeoff.judge.timing.field import TOO_SLOW, Field
from bakeoff.judge.timing.parent import Code, Files, OriginalChangedError, Place, TimingError
from bakeoff.judge.timing.plan import Input, Known, Plan
from bakeoff.judge.timing.speed import FASTER, NOT_FASTER, UNDECIDED, Calibration, Speed

SELECTION = 0.6
"""Share of the time that the selection may take; the rest is for measuring the finalist again."""
CALIBRATION, CALIBRATING = 0.1, 0.4
"""Share of the time that the calibration may take, and seconds."""
ANEW = 3
"""Restarts of a race at most, each without an input on which the original gave another result."""
TRACED = 3
"""Forks that memory is measured in."""


@dataclass(frozen=True, slots=True)
class Options:
    """How it is measured.

    Attributes:
        min_speedup: what the lower bound must be above.
        seconds: of measuring, starting and waiting for others left out; what is not decided then is undecided.
        seed: of everything that is left to chance.
        fork_seconds: that one fork may take before it counts as hung.
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
        """How often a decision may be wrong."""
        return DECIDE * 0.5**self.earlier

    def __post_init__(self) -> None:
        if not self.min_speedup > 0:
            raise ValueError(f"min_speedup must be above 0, not {self.min_speedup}")
        if not self.seconds > 0:
            raise ValueError(f"seconds must be above 0, not {self.seconds}")


@dataclass(frozen=True, slots=True)
class Raced:
    """What came of it.

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


async def race(
    place: Place,
    code: Code,
    original: Mapping[str, bytes],
    contenders: Mapping[str, Files],
    inputs: Sequence[Input],
    options: Options = Options(),
    *,
    lock: BenchLock | None = None,
    kept: Mapping[str, Speed] | None = None,
    told: Told | None = None,
) -> Raced:
    """Measure all contenders against the original, and the best one again.

    Cancelled, all processes are gone before this returns.

    Args:
        place: an interpreter beside the original's files.
        code: the function.
        original: contents of every file that any contender changes, as they are.
        contenders: contents of their changed Python files.
        inputs: what to call it on; at least half of them fresh, else memorised inputs win.
        options: how.
        lock: of this machine.
        kept: verdicts of an earlier race that was interrupted; these contenders are not measured again.
        told: awaited with each verdict as soon as it is final, so that it can be kept.

    An input on which the original turns out to give another result each time is left out; where there are too many of
    them, all that is not settled by then is undecided.

    Passes on TimingError: nothing can be measured, or a contender changes what is not Python.
    """
    speeds = dict(kept or {})
    left = [name for name in contenders if name not in speeds]
    calibration = None
    if left:
        for name in left:
            _check(name, contenders[name])
        files: list[Files] = [original, *(contenders[name] for name in left)]
        bench = Bench(place, code, files, options.seed, options.fork_seconds)
        blocks = Blocks(lock or BenchLock(), options.seconds, bench.kill)
        running = _Race(bench, left, inputs, options, blocks, told)
        try:
            await running.run()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(bench.close)
        speeds.update(running.speeds)
        calibration = running.calibration
    return Raced.of({name: speeds[name] for name in contenders}, calibration)


def _check(name: str, files: Files) -> None:
    for path in files:
        if not path.endswith(".py"):
            raise TimingError(f"{name} changes {path}: only Python files can be timed side by side")


@dataclass(slots=True)
class _Race:
    """One race under way."""

    bench: Bench
    names: list[str]
    inputs: Sequence[Input]
    options: Options
    blocks: Blocks
    told: Told | None
    speeds: dict[str, Speed] = field(default_factory=dict)
    calibration: Calibration | None = None
    known: list[Known] = field(default_factory=list)
    how: tuple[bool, bool] = (False, True)
    floor: float = 0.0
    so_far: dict[str, Speed] = field(default_factory=dict)

    async def run(self) -> None:
        """Race until every contender has its verdict; restart without inputs on which the original varies.

        Raises:
            TimingError: nothing can be measured.
        """
        self.floor = math.log(self.options.min_speedup)
        for turn in range(ANEW + 1):
            try:
                return await self.compete()
            except OriginalChangedError as changed:
                failure = changed
                self.inputs = [given for given in self.inputs if given.call != changed.call]
                if changed.call is None or time.monotonic() >= self.blocks.until():
                    break
            except TimingError:
                if not turn:
                    raise
                break
        for name in self.open:
            await self.settle(name, Speed(UNDECIDED, str(failure)))

    async def compete(self) -> None:
        """Select among what is open, and measure the best again.

        Passes on OriginalChangedError: the original no longer gives what it gave.
        """
        plan = await self.blocks.block(self.calibrate)
        alone = len(self.open) == 1
        finalists = self.open if alone else await self.select()
        won = None
        for attempt, name in enumerate(finalists):
            if won is not None:
                await self.settle(name, replace(self.so_far[name], detail=f"not measured again, as {won} won"))
            elif await self.final(name, plan if alone else None, self.options.alpha / 2**attempt):
                won = name

    @property
    def open(self) -> list[str]:
        """Contenders without a verdict."""
        return [name for name in self.names if name not in self.speeds]

    def calibrate(self) -> Plan:
        """Learn what the inputs are, and what noise there is."""
        bench = self.bench
        with self.blocks.starting():
            bench.renew()
            self.known, dropped, *self.how = bench.learn(self.inputs)  # type: ignore[assignment]
        plan = bench.plan(self.known, *self.how)
        until = min(self.blocks.until(CALIBRATION), time.monotonic() + CALIBRATING)
        self.calibration = bench.itself(plan, dropped, until)
        return plan

    async def select(self) -> list[str]:
        """Race all; who may be measured again, the fastest first. The verdicts on the others are final."""
        plan = self.bench.plan(self.known, *self.how)
        names = self.open
        contest = Field(names, self.floor)
        evidence = {name: Evidence(plan.weights, self.options.alpha / len(self.names)) for name in names}

        def some() -> None:
            end = min(self.blocks.until(SELECTION), time.monotonic() + BLOCK)
            while not contest.settled and time.monotonic() < end:
                numbers = [self.number(name) for name in contest.alive]
                for taken in self.bench.chunk(plan, [0, *numbers], end):
                    ratios = {}
                    for name in list(contest.alive):
                        ratio = evidence[name].add(taken.samples[0], taken.samples[self.number(name)], taken.job)
                        verdict = evidence[name].decide(self.floor)
                        if ratio is not None and evidence[name].may_be_judged:
                            ratios[name] = ratio
                        if verdict is not None and verdict[0] != FASTER:
                            contest.drop(name, verdict[1])
                    contest.add(ratios)

        while not contest.settled and time.monotonic() < self.blocks.until(SELECTION):
            await self.blocks.block(some)
            for name in list(contest.out):
                if name not in self.speeds:
                    await self.settle(name, self.selected(name, evidence[name], contest))
        for name in self.open:
            if name not in contest.alive:
                await self.settle(name, self.selected(name, evidence[name], contest))
        self.so_far = {name: self.selected(name, evidence[name], contest) for name in contest.alive}
        fast = [name for name in contest.alive if evidence[name].ratio.median > self.floor]
        for name in contest.alive:
            if name not in fast:
                await self.settle(name, self.so_far[name])
        return sorted(fast, key=lambda name: -evidence[name].ratio.median)

    def selected(self, name: str, evidence: Evidence, contest: Field) -> Speed:
        """What the selection says of a contender."""
        why = contest.out.get(name, "the time is over")
        verdict = evidence.decide(self.floor) or (NOT_FASTER if why == TOO_SLOW else UNDECIDED, why)
        return self.speed(verdict, evidence, remeasured=False)

    async def final(self, name: str, plan: Plan | None, alpha: float) -> bool:
        """Measure one contender in parents of its own; whether it is faster.

        Args:
            name: of the contender.
            plan: of the phase, where the parents that there are have not been used to select anything.
            alpha: of the decision.
        """
        fresh: list[Plan] = [] if plan is None else [plan]
        evidence: list[Evidence] = []

        def some() -> bool:
            if not fresh:
                with self.blocks.starting():
                    self.bench.renew()
                fresh.append(self.bench.plan(self.known, *self.how))
            if not evidence:
                fresh[0].show()
                evidence.append(Evidence(fresh[0].weights, alpha))
            return self.finalise(name, fresh[0], evidence[0])

        done = False
        while not done and (time.monotonic() < self.blocks.until() or not evidence):
            done = await self.blocks.block(some)
        found = evidence[0]
        verdict = found.decide(self.floor) or (UNDECIDED, self.why_undecided(found))
        speed = self.speed(verdict, found, remeasured=True)
        if self.options.memory and speed.verdict == FASTER:
            speed = replace(speed, memory=await self.blocks.block(lambda: self.memory(name, fresh[0])))
        await self.settle(name, speed)
        return speed.verdict == FASTER

    def finalise(self, name: str, plan: Plan, evidence: Evidence) -> bool:
        """Rounds of one contender for a block's time; whether that decides it."""
        number = self.number(name)
        end = min(self.blocks.until(), time.monotonic() + BLOCK)
        while evidence.decide(self.floor) is None:
            for taken in self.bench.chunk(plan, [0, number], end):
                evidence.add(taken.samples[0], taken.samples[number], taken.job)
                if evidence.decide(self.floor) is not None:
                    break
            more = evidence.more_work(self.floor)
            if more > 1 and plan.grow(more):
                evidence.regard_anew()
            if time.monotonic() >= end:
                break
        return evidence.decide(self.floor) is not None

    def memory(self, name: str, plan: Plan) -> float | None:
        """Peak of a contender in relation to the original's."""
        job = replace(plan.job(self.bench.chance), trace=True)
        peaks = []
        for number in (self.number(name), 0):
            found = [self.bench.sample(number, job).peak for _ in range(TRACED)]
            peaks.append(statistics.median([peak for peak in found if peak is not None] or [0]))
        return peaks[0] / peaks[1] if peaks[1] else None

    def why_undecided(self, evidence: Evidence) -> str:
        """What is missing."""
        if len(evidence.ratio) and evidence.ratio.low(evidence.alpha) > self.floor and not evidence.agreed:
            return "the clock outside does not bear it out within the time"
        return "the time is over"

    def number(self, name: str) -> int:
        """Of a contender in the bench; 0 is the original."""
        return self.names.index(name) + 1

    async def settle(self, name: str, speed: Speed) -> None:
        """A verdict is final."""
        self.speeds[name] = speed
        if self.told is not None:
            await self.told(name, speed)

    def speed(self, verdict: tuple[str, str], evidence: Evidence, *, remeasured: bool) -> Speed:
        """All that is known of a contender."""
        assert self.calibration is not None
        receipt: dict[str, Any] = {
            "parents": self.bench.started, "processor": self.bench.cpu, "disturbed_pairs": evidence.dropped,
            "spoiled": dict(self.bench.spoiled), "alpha": evidence.alpha, "min_speedup": self.options.min_speedup,
            "calibration": self.calibration.to_json(),
        }  # fmt: skip
        if len(evidence.hidden):
            receipt["unaccounted_us"] = round(evidence.hidden.median / 1e3, 1)
            receipt["gained_us"] = round(evidence.gain.median / 1e3, 1)
            receipt["loading_ms"] = round(evidence.loading.median / 1e6, 3)
        return Speed(
            *verdict, speedup=interval(evidence.ratio), fresh=interval(evidence.fresh), cold=interval(evidence.cold),
            total=interval(evidence.total), cpu=math.exp(evidence.cpu.median) if len(evidence.cpu) else None,
            remeasured=remeasured, pairs=len(evidence.ratio), receipt=receipt,
        )  # fmt: skip
