"""Race of versions of a function against the original, in forks of parents that have imported what they need.

raced = await race(place(command), Code("pkg.mod", "function", root), original, candidates, inputs)
raced.winner, raced.speeds["candidate"].speedup
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bakeoff.judge.timing.bench import Bench, Round
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.block import Blocks
from bakeoff.judge.timing.evidence import Evidence, interval
from bakeoff.judge.timing.parent import Code, Files, OriginalChangedError, Place, TimingError
from bakeoff.judge.timing.plan import Input, Known, Plan
from bakeoff.judge.timing.race import DEFAULTS, NO_RECORD, Options, Phase, Raced, RaceRecord, Sampler, run_race
from bakeoff.judge.timing.speed import Speed, Verdict

CALIBRATION, CALIBRATING = 0.1, 0.4
"""Share of the time that the calibration may take, and seconds."""
TRACED = 3
"""Forks that memory is measured in."""


async def race(
    place: Place,
    code: Code,
    original: Mapping[str, bytes],
    contenders: Mapping[str, Files],
    inputs: Sequence[Input],
    options: Options = DEFAULTS,
    *,
    lock: BenchLock | None = None,
    record: RaceRecord = NO_RECORD,
) -> Raced:
    """Measure all contenders against the original, and the best one again.

    Cancelled, all processes are gone before this returns.

    Args:
        place: an interpreter beside the original's files.
        code: the function.
        original: contents of every file that any contender changes, as they are.
        contenders: contents of their changed Python files.
        inputs: calls to make of it; at least half of them fresh, else memorised inputs win.
        options: see `Options`.
        lock: of this machine.
        record: see `RaceRecord`.

    An input on which the original turns out to give another result each time is left out; where there are too many of
    them, all that is not settled by then is undecided.

    Passes on TimingError: nothing can be measured, or a contender changes what is not Python.
    """

    def make(left: Sequence[str]) -> FunctionSampler:
        for name in left:
            _check(name, contenders[name])
        files: list[Files] = [original, *(contenders[name] for name in left)]
        bench = Bench(place, code, files, options.seed, options.fork_seconds)
        return FunctionSampler(bench, left, inputs, options, Blocks(lock or BenchLock(), options.seconds, bench.kill))

    return await run_race(make, contenders, options, record)


def _check(name: str, files: Files) -> None:
    for path in files:
        if not path.endswith(".py"):
            raise TimingError(f"{name} changes {path}: only Python files can be timed side by side")


class FunctionSampler(Sampler[Evidence, Round]):
    """Takes samples of versions of a function: a round is one fork of each; see `Sampler`."""

    def __init__(
        self, bench: Bench, names: Sequence[str], inputs: Sequence[Input], options: Options, blocks: Blocks
    ) -> None:
        self.bench = bench
        self.numbers = {name: number for number, name in enumerate(names, 1)}  # in the bench; 0 is the original
        self.inputs = inputs
        self.options = options
        self.blocks = blocks
        self.plan: Plan
        self._known: list[Known] = []
        self._how = False, True

    async def calibrate(self) -> Mapping[str, Verdict]:
        """Learn what the original makes of the inputs, and what noise there is."""

        def learn() -> None:
            with self.blocks.starting():
                self.bench.renew()
                self._known, dropped, *self._how = self.bench.learn(self.inputs)  # type: ignore[assignment]
            self.plan = self.bench.plan(self._known, *self._how)
            until = min(self.blocks.until(CALIBRATION), time.monotonic() + CALIBRATING)
            self.calibration = self.bench.itself(self.plan, dropped, until)

        await self.blocks.block(learn)
        return {}

    def without(self, changed: OriginalChangedError) -> bool:
        """Leave out the input that the original answers anew, where it is one and there is time."""
        self.inputs = [given for given in self.inputs if given.call != changed.call]
        return changed.call is not None and time.monotonic() < self.blocks.until()

    def begin(self, phase: Phase) -> None:
        """Choose the inputs of a phase; what was selected gets parents of its own."""
        if phase is Phase.AGAIN:
            with self.blocks.starting():
                self.bench.renew()
        if phase is not Phase.ALONE:
            self.plan = self.bench.plan(self._known, *self._how)
        if phase is not Phase.SELECTION:
            self.plan.show()

    def pairs(self, alpha: float) -> Evidence:
        """No pairs yet."""
        return Evidence(self.plan.weights, alpha)

    def rounds(self, names: Sequence[str], until: float) -> Sequence[Round]:
        """Rounds of one chunk; none where load disturbed it."""
        before = self.bench.lost
        taken = self.bench.chunk(self.plan, [0, *(self.numbers[name] for name in names)], until)
        self.blocks.lose(self.bench.lost - before)
        return taken

    def add(self, pairs: Evidence, taken: Round, name: str) -> float | None:
        """Add a pair; its ratio, where it is known what the contender gains it by."""
        ratio = pairs.add(taken.samples[0], taken.samples[self.numbers[name]], taken.job)
        return ratio if pairs.may_be_judged else None

    def adapt(self, pairs: Evidence, floor: float) -> None:
        """Have forks do so much work that the clock outside can agree."""
        more = pairs.more_work(floor)
        if more > 1 and self.plan.grow(more):
            pairs.regard_anew()

    async def confirm(self, name: str, speed: Speed) -> Speed:
        """Add the peak memory, where it was asked for."""
        if not self.options.memory:
            return speed
        return replace(speed, memory=await self.blocks.block(lambda: self.memory(name)))

    def memory(self, name: str) -> float | None:
        """Peak of a contender in relation to the original's."""
        job = replace(self.plan.job(self.bench.chance), trace=True)
        peaks = []
        for number in (self.numbers[name], 0):
            found = [self.bench.sample(number, job).peak for _ in range(TRACED)]
            peaks.append(statistics.median([peak for peak in found if peak is not None] or [0]))
        return peaks[0] / peaks[1] if peaks[1] else None

    def speed(self, verdict: Verdict, pairs: Evidence, *, remeasured: bool) -> Speed:
        """All that is known of a contender."""
        assert self.calibration is not None
        receipt: dict[str, Any] = {
            "parents": self.bench.started, "processor": self.bench.cpu, "disturbed_pairs": pairs.disturbed,
            "spoiled": dict(self.bench.load.spoiled), "alpha": pairs.alpha, "min_speedup": self.options.min_speedup,
            "calibration": self.calibration.to_json(),
        }  # fmt: skip
        if len(pairs.hidden):
            receipt["unaccounted_us"] = round(pairs.hidden.median / 1e3, 1)
            receipt["gained_us"] = round(pairs.gain.median / 1e3, 1)
            receipt["loading_ms"] = round(pairs.loading.median / 1e6, 3)
        return Speed(
            *verdict, speedup=interval(pairs.ratio), fresh=interval(pairs.fresh), cold=interval(pairs.cold),
            total=interval(pairs.total), cpu=math.exp(pairs.cpu.median) if len(pairs.cpu) else None,
            remeasured=remeasured, pairs=len(pairs.ratio), receipt=receipt,
        )  # fmt: skip

    def untimed(self, verdict: Verdict) -> Speed:
        """A verdict without a receipt: the original may not even have been calibrated."""
        return Speed(*verdict)

    def close(self) -> None:
        """End all parents. Blocks."""
        self.bench.close()
