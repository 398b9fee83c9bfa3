"""Race of whole commands against the original's, in any language: one process is a sample, in the slot of each."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.block import Blocks
from bakeoff.judge.timing.command_pairs import CommandPairs, failed
from bakeoff.judge.timing.command_run import Ran, Runner, difference
from bakeoff.judge.timing.evidence import REPORT, interval
from bakeoff.judge.timing.load import LoadGuard
from bakeoff.judge.timing.parent import OriginalChangedError, Place, TimingError, place
from bakeoff.judge.timing.race import NO_RECORD, Options, Raced, RaceRecord, Sampler, run_race
from bakeoff.judge.timing.speed import UNDECIDED, Calibration, Speed, Verdict
from bakeoff.judge.timing.statistics import MedianSequence
from bakeoff.process.command import Command

COMMANDS = Options(fork_seconds=600.0)
AGAINST_ITSELF = 3
"""Pairs of the calibration: a command takes long."""
FORGOTTEN = 5
"""By how many more runs it must save time, or save none, without the files that its earlier runs left."""
MOST_FORGOTTEN = 60
"""Most runs without them; also where time is over, as many are made as may decide."""
STARTS = 3
"""How often it is measured what starting a command takes; the least counts."""


@dataclass(frozen=True, slots=True)
class CommandRaceOptions:
    """Demands on commands, besides being fast.

    Attributes:
        same_output: each prints what the original prints, in every run but the first.
        empty: a command that does nothing in the same place; what starting it takes does not count.
        tidy: by name of the contender, that of the original being empty: clears away what a run left, and says how
            many processes that were.
        forget: by name of the contender: deletes files that its runs left and the original's did not; their names.
    """

    same_output: bool = False
    empty: Command | None = None
    tidy: Mapping[str, Callable[[], int]] = field(default_factory=dict)
    forget: Mapping[str, Callable[[], list[str]]] = field(default_factory=dict)


async def race_commands(
    original: Command,
    contenders: Mapping[str, Command],
    options: Options = COMMANDS,
    demands: CommandRaceOptions = CommandRaceOptions(),
    *,
    lock: BenchLock | None = None,
    record: RaceRecord = NO_RECORD,
) -> Raced:
    """Measure a command in every contender's slot against the original's; by wall time, until it has ended.

    Each is run once before it counts, so that what is built is there. Cancelled, the process that runs is gone before
    this returns.

    Args:
        original: the command where nothing was changed.
        contenders: the command in the slot of each. It must end with status 0.
        options: see `Options`; `fork_seconds` is what one run may take, `seconds` begin when each has run once.
        demands: see `CommandRaceOptions`.
        lock: of this machine.
        record: see `RaceRecord`.

    An original that fails later, or prints something else then, leaves all that is not settled undecided.

    Passes on TimingError: the original cannot be run, fails, or prints something else each time.
    """

    def make(left: Sequence[str]) -> CommandSampler:
        places = {"": place(original), **{name: place(contenders[name]) for name in left}}
        return CommandSampler(places, options, demands, lock or BenchLock())

    return await run_race(make, contenders, options, record)


async def try_command(
    original: Command,
    options: Options = COMMANDS,
    demands: CommandRaceOptions = CommandRaceOptions(),
    *,
    lock: BenchLock | None = None,
) -> Ran:
    """One run of a command that was run before; see `race_commands`, also for what is raised.

    Passes on TimingError: it cannot be run, fails, or prints something else each time.
    """
    sampler = CommandSampler({"": place(original)}, options, demands, lock or BenchLock())
    try:
        await sampler.first()
        ran = await sampler.blocks.block(sampler.originals)
        return await sampler.blocks.block(sampler.originals) if demands.same_output else ran
    finally:
        sampler.close()


class CommandSampler(Sampler[CommandPairs, Mapping[str, Ran]]):
    """Takes samples of commands: a round is one run of each; see `Sampler`.

    A block may take longer than others, as a run is not cut short. There are no phases, as every run is a process of
    its own, no inputs that could be left out, and no way to have a run do more work.
    """

    insists = True  # whoever prints something else falls, however short the time

    def __init__(
        self, places: Mapping[str, Place], options: Options, demands: CommandRaceOptions, lock: BenchLock
    ) -> None:
        """Prepare. The place of the original has an empty name."""
        self.places = places
        self.options = options
        self.demands = demands
        self.runner = Runner(options.fork_seconds)
        self.blocks = Blocks(lock, options.seconds, self.runner.kill)
        self.load = LoadGuard(None)
        self.chance = random.Random(options.seed)  # noqa: S311 - to be repeatable, not secret
        self.expected: Ran | None = None
        self.leaves = False
        self.start = Ran(0.0, 0.0, 0, 0)

    async def calibrate(self) -> Mapping[str, Verdict]:
        """Run each once; measure the start of a command, and the original against itself.

        Raises:
            TimingError: the original fails, or prints something else each time.
        """
        await self.first()
        broken = {}
        for name in filter(None, self.places):
            ran = await self.blocks.block(lambda name=name: self.once(name))  # type: ignore[misc]
            if (why := failed(ran, None, self.leaves)) is not None:
                broken[name] = why
        self.blocks.begin()
        await self.blocks.block(self.starts)
        ratio, loads, work = MedianSequence(REPORT), [], math.nan
        for _ in range(AGAINST_ITSELF):
            try:
                one, two, load = await self.blocks.block(self.against_itself)
            except OriginalChangedError as failure:
                raise TimingError(str(failure)) from None  # nothing was raced that could be left undecided
            ratio.add(math.log(one.wall / two.wall))
            loads.append(load)
            work = one.wall
            if time.monotonic() > self.blocks.until():
                break
        load = sum(loads) / len(loads)
        idle = self.load.calibrate(load)
        self.calibration = Calibration(ratio.spread, interval(ratio), idle, load, 1, 0, {}, work)
        return broken

    async def first(self) -> None:
        """Run the original once.

        Raises:
            TimingError: it fails.
        """
        first = await self.blocks.block(lambda: self.once(""))
        if first.status != 0:
            how = "takes too long" if first.status is None else f"ends with status {first.status}"
            raise TimingError(f"the command {how} where nothing was changed: there is nothing to compare with")
        self.leaves = first.left > 0

    def starts(self) -> None:
        """Measure the least that starting a command takes."""
        if self.demands.empty is not None:
            nothing = place(self.demands.empty)
            starts = [self.run(nothing) for _ in range(STARTS)]
            self.start = replace(starts[0], wall=min(one.wall for one in starts), cpu=min(one.cpu for one in starts))

    def against_itself(self) -> tuple[Ran, Ran, float]:
        """Two runs of the original, and how many processors others kept busy."""
        begun = self.load.begin()
        one, two = self.originals(), self.originals()
        return one, two, self.load.since(begun).total

    def pairs(self, alpha: float) -> CommandPairs:
        """No pairs yet."""
        return CommandPairs(alpha, self.expected, self.leaves)

    def rounds(self, names: Sequence[str], until: float) -> Sequence[Mapping[str, Ran]]:
        """One run of each, in a random order; none where load disturbed them."""
        order = ["", *names]
        self.chance.shuffle(order)
        begun = self.load.begin()
        runs = {name: self.counted(name) if name else self.originals() for name in order}
        return [runs] if self.load.counts(self.load.since(begun)) else []

    def add(self, pairs: CommandPairs, taken: Mapping[str, Ran], name: str) -> float | None:
        """Add a pair; its ratio, None where the contender failed."""
        return pairs.add(taken[""], taken[name])

    async def confirm(self, name: str, speed: Speed) -> Speed:
        """Run it without the files that its earlier runs left."""
        forget = self.demands.forget.get(name)
        verdict = None if forget is None else await self.without_files(name, forget)
        return speed if verdict is None else replace(speed, verdict=verdict[0], detail=verdict[1])

    async def without_files(self, name: str, forget: Callable[[], list[str]]) -> Verdict | None:
        """Verdict on a contender that is faster only by files which its earlier runs left; None on any other.

        A build may leave files, too; what counts is whether most of the time is still saved without them.
        """
        lead, left = 0, list[str]()
        for round in range(MOST_FORGOTTEN):
            if abs(lead) >= FORGOTTEN or (round >= FORGOTTEN and time.monotonic() > self.blocks.until()):
                break
            original, quick = await self.blocks.block(lambda: (self.originals(), self.counted(name)))
            left = forget()
            if not left:
                return None
            again = await self.blocks.block(lambda: self.counted(name))
            lead += 1 if original.wall - again.wall >= (original.wall - quick.wall) / 2 else -1
        if lead >= FORGOTTEN:
            return None
        files = ", ".join(left[:3])
        if lead <= -FORGOTTEN:
            return "cross-call-state", f"it is fast only where an earlier run has left {files}"
        return UNDECIDED, f"whether it is fast without {files}, which earlier runs left, did not show within the time"

    def run(self, where: Place, tidy: Callable[[], int] | None = None) -> Ran:
        """One run in a place, on the account of what is measured."""
        ran = self.runner.run(where, tidy)
        self.load.used += ran.cpu
        return ran

    def once(self, name: str) -> Ran:
        """One run of the original (an empty name) or of a contender."""
        return self.run(self.places[name], self.demands.tidy.get(name))

    def counted(self, name: str) -> Ran:
        """One run less the time for starting it; a tenth of the whole is the least that is left."""
        ran = self.once(name)
        wall = max(ran.wall - self.start.wall, ran.wall / 10)
        return replace(ran, wall=wall, cpu=max(ran.cpu - self.start.cpu, ran.cpu / 10))

    def originals(self) -> Ran:
        """A run of the original that counts.

        Raises:
            OriginalChangedError: it failed, or printed something else than before.
        """
        ran = self.counted("")
        if ran.status != 0:
            how = "took too long" if ran.status is None else f"ended with status {ran.status}"
            raise OriginalChangedError(f"the command {how} where nothing was changed")
        if self.demands.same_output and self.expected is None:
            self.expected = ran
        if self.expected is not None and ran.output != self.expected.output:
            raise OriginalChangedError(
                f"where nothing was changed the command does not print the same each time: "
                f"{difference(self.expected, ran)}. Give --bench-output any to leave what it prints out of account"
            )
        return ran

    def speed(self, verdict: Verdict, pairs: CommandPairs, *, remeasured: bool) -> Speed:
        """All that is known of a contender."""
        assert self.calibration is not None
        receipt = {
            "spoiled": self.load.spoiled.total(), "alpha": pairs.alpha, "min_speedup": self.options.min_speedup,
            "start": self.start.wall, "same_output": self.demands.same_output,
            "calibration": self.calibration.to_json(),
        }  # fmt: skip
        found = interval(pairs.ratio)
        return Speed(
            *verdict, speedup=found, total=found, cpu=math.exp(pairs.cpu.median) if len(pairs.cpu) else None,
            memory=pairs.memory.median if self.options.memory and len(pairs.memory) else None, remeasured=remeasured,
            pairs=len(pairs.ratio), receipt=receipt,
        )  # fmt: skip

    def untimed(self, verdict: Verdict) -> Speed:
        """A verdict with a receipt that has no pairs."""
        return self.speed(verdict, self.pairs(self.options.alpha), remeasured=False)

    def close(self) -> None:
        """End the watch over what runs. Blocks for a moment."""
        self.runner.close()
