"""Whole commands side by side, in any language: one process a sample, in the slot of each, by the same rules."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bakeoff.judge.timing.bench import PATIENT
from bakeoff.judge.timing.bench_lock import BLOCK, BenchLock
from bakeoff.judge.timing.block import Blocks
from bakeoff.judge.timing.command_pairs import Pairs, failed
from bakeoff.judge.timing.command_run import Ran, Runner, difference
from bakeoff.judge.timing.evidence import REPORT, interval
from bakeoff.judge.timing.field import TOO_SLOW, Field
from bakeoff.judge.timing.load import LoadWatch
from bakeoff.judge.timing.parent import OriginalChangedError, Place, TimingError, place
from bakeoff.judge.timing.race import SELECTION, Options, Raced, Told
from bakeoff.judge.timing.speed import FASTER, NOT_FASTER, UNDECIDED, Calibration, Speed
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
class Terms:
    """What commands are held to, besides being fast.

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
    terms: Terms = Terms(),
    *,
    lock: BenchLock | None = None,
    kept: Mapping[str, Speed] | None = None,
    told: Told | None = None,
) -> Raced:
    """Measure a command in every contender's slot against the original's; by wall time, until it has ended.

    Each is run once before it counts, so that what is built is there. Cancelled, the process that runs is gone before
    this returns.

    Args:
        original: the command where nothing was changed.
        contenders: the command in the slot of each. It must end with status 0.
        options: how; `fork_seconds` is what one run may take, `seconds` begin when each has run once.
        terms: what else is asked of them.
        lock: of this machine.
        kept: verdicts of an earlier race that was interrupted.
        told: awaited with each verdict as soon as it is final.

    An original that fails later, or prints something else then, leaves all that is not settled undecided.

    Passes on TimingError: the original cannot be run, fails, or prints something else each time.
    """
    speeds = dict(kept or {})
    left = {name: place(command) for name, command in contenders.items() if name not in speeds}
    calibration = None
    if left:
        running = _Commands(place(original), left, options, terms, lock or BenchLock(), told, speeds)
        try:
            await running.run()
        finally:
            running.runner.close()
        calibration = running.calibration
    return Raced.of({name: speeds[name] for name in contenders}, calibration)


async def try_command(
    original: Command, options: Options = COMMANDS, terms: Terms = Terms(), *, lock: BenchLock | None = None
) -> Ran:
    """One run of a command that was run before; see `race_commands`, also for what is raised.

    Passes on TimingError: it cannot be run, fails, or prints something else each time.
    """
    running = _Commands(place(original), {}, options, terms, lock or BenchLock(), None, {})
    try:
        await running.first()
        ran = await running.blocks.block(running.originals)
        return await running.blocks.block(running.originals) if terms.same_output else ran
    finally:
        running.runner.close()


class _Commands:
    """One race of commands under way."""

    def __init__(
        self,
        original: Place,
        contenders: Mapping[str, Place],
        options: Options,
        terms: Terms,
        lock: BenchLock,
        told: Told | None,
        speeds: dict[str, Speed],
    ) -> None:
        self.places = {"": original, **contenders}
        self.options = options
        self.terms = terms
        self.told = told
        self.speeds = speeds
        self.calibration: Calibration | None = None
        self.runner = Runner(options.fork_seconds)
        self.blocks = Blocks(lock, options.seconds, self.runner.kill)
        self.watch = LoadWatch(None)
        self.chance = random.Random(options.seed)  # noqa: S311 - to be repeatable, not secret
        self.floor = math.log(options.min_speedup)
        self.expected: Ran | None = None
        self.leaves = False
        self.start = Ran(0.0, 0.0, 0, 0)
        self.usual = 0.0
        self.spoiled = 0
        self._row = 0

    async def run(self) -> None:
        """Carry it out."""
        await self.first()
        broken = {}
        for name in [name for name in self.places if name]:
            ran = await self.blocks.block(lambda name=name: self.once(name))  # type: ignore[misc]
            if (why := failed(ran, None, self.leaves)) is not None:
                broken[name] = why
        self.blocks.begin()
        await self.calibrate()
        for name, why in broken.items():
            await self.settle(name, self.speed(why, self.pairs(self.options.alpha), False))
        names = [name for name in self.places if name and name not in broken]
        try:
            await self.compete(names)
        except OriginalChangedError as failure:
            for name in names:
                if name not in self.speeds:
                    await self.settle(
                        name, self.speed((UNDECIDED, str(failure)), self.pairs(self.options.alpha), False)
                    )

    async def compete(self, names: Sequence[str]) -> None:
        """Select among contenders, and measure the best again.

        Passes on OriginalChangedError: the original failed, or printed something else than before.
        """
        finalists, so_far = names, dict[str, Pairs]()
        if len(names) > 1:
            finalists, so_far = await self.select(names)
        won = None
        for attempt, name in enumerate(finalists):
            if won is not None:
                verdict = so_far[name].decide(self.floor) or (UNDECIDED, "")
                speed = self.speed(verdict, so_far[name], False)
                await self.settle(name, replace(speed, detail=f"not measured again, as {won} won"))
            elif await self.final(name, self.options.alpha / 2**attempt):
                won = name

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

    async def final(self, name: str, alpha: float) -> bool:
        """Measure one contender apart from the selection; whether it is faster."""
        pairs = self.pairs(alpha)
        while pairs.decide(self.floor) is None and (time.monotonic() < self.blocks.until() or not len(pairs.wall)):
            await self.blocks.block(lambda: self.some([name], {name: pairs}, None, 1.0))
        verdict = pairs.decide(self.floor) or (UNDECIDED, pairs.missing(self.floor))
        if verdict[0] == FASTER and name in self.terms.forget:
            verdict = await self.without_files(name, self.terms.forget[name]) or verdict
        speed = self.speed(verdict, pairs, True)
        await self.settle(name, speed)
        return speed.verdict == FASTER

    async def without_files(self, name: str, forget: Callable[[], list[str]]) -> tuple[str, str] | None:
        """What is said of a contender that is faster only by files which its earlier runs left; None of any other.

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

    def pairs(self, alpha: float) -> Pairs:
        """Nothing known yet."""
        return Pairs(alpha, self.expected, self.leaves)

    def once(self, name: str) -> Ran:
        """One run of the original (an empty name) or of a contender."""
        return self.runner.run(self.places[name], self.terms.tidy.get(name))

    def counted(self, name: str) -> Ran:
        """The same without what starting it takes, of which a tenth of the whole is the least that is left."""
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
        if self.terms.same_output and self.expected is None:
            self.expected = ran
        if self.expected is not None and ran.output != self.expected.output:
            raise OriginalChangedError(
                f"where nothing was changed the command does not print the same each time: "
                f"{difference(self.expected, ran)}. Give --bench-output any to leave what it prints out of account"
            )
        return ran

    async def calibrate(self) -> None:
        """Measure the start of a command, and the original against itself."""
        await self.blocks.block(self.starts)
        ratio, loads, work = MedianSequence(REPORT), [], math.nan
        for _ in range(AGAINST_ITSELF):
            one, two, load = await self.blocks.block(self.against_itself)
            ratio.add(math.log(one.wall / two.wall))
            loads.append(load)
            work = one.wall
            if time.monotonic() > self.blocks.until():
                break
        load = sum(loads) / len(loads)
        self.usual = load if load >= 0.3 else 0.0
        self.calibration = Calibration(ratio.spread, interval(ratio), load < 0.3, load, 1, 0, {}, work)

    def starts(self) -> None:
        """What starting a command takes, at least."""
        if self.terms.empty is not None:
            nothing = place(self.terms.empty)
            starts = [self.runner.run(nothing) for _ in range(STARTS)]
            self.start = replace(starts[0], wall=min(one.wall for one in starts), cpu=min(one.cpu for one in starts))

    def against_itself(self) -> tuple[Ran, Ran, float]:
        """Two runs of the original, and how many processors others kept busy."""
        before, used, own = self.watch.read(), self.runner.used, time.process_time()
        one, two = self.originals(), self.originals()
        spent = self.runner.used - used + time.process_time() - own
        return one, two, self.watch.between(before, self.watch.read(), 0.0, spent).total

    def round(self, names: Sequence[str]) -> dict[str, Ran] | None:
        """One run of each, in a random order; None where something else was seen to run meanwhile."""
        order = ["", *names]
        self.chance.shuffle(order)
        before, used, own = self.watch.read(), self.runner.used, time.process_time()
        runs = {name: self.counted(name) if name else self.originals() for name in order}
        spent = self.runner.used - used + time.process_time() - own
        load = self.watch.between(before, self.watch.read(), 0.0, spent)
        if load.too_much(self.usual) is None:
            self._row = 0
            return runs
        self.spoiled += 1
        self._row += 1
        if self._row >= PATIENT:
            self.usual, self._row = max(self.usual, load.total, load.steal), 0
        return None

    def some(self, names: Sequence[str], pairs: Mapping[str, Pairs], contest: Field | None, share: float) -> None:
        """Rounds for a block's time, one at least, and no longer than a share of the seconds."""
        end = min(self.blocks.until(share), time.monotonic() + BLOCK)
        while True:
            alive = names if contest is None else list(contest.alive)
            runs = self.round(alive)
            if runs is not None:
                self.take(runs, alive, pairs, contest)
            done = contest.settled if contest else all(pairs[name].decide(self.floor) for name in alive)
            if done or time.monotonic() >= end:
                return

    def take(
        self, runs: Mapping[str, Ran], names: Sequence[str], pairs: Mapping[str, Pairs], contest: Field | None
    ) -> None:
        """Add a round to what is known."""
        ratios = {}
        for name in names:
            ratio = pairs[name].add(runs[""], runs[name])
            if ratio is not None:
                ratios[name] = ratio
            elif contest is not None:
                contest.drop(name, (pairs[name].failure or ("", ""))[1])
        if contest is not None:
            contest.add(ratios)

    async def select(self, names: Sequence[str]) -> tuple[list[str], dict[str, Pairs]]:
        """Race all; who may be measured again, the fastest first. The verdicts on the others are final."""
        contest = Field(names, self.floor)
        pairs = {name: self.pairs(self.options.alpha / len(names)) for name in names}
        # One round at least: who prints something else falls, however short the time.
        while not contest.settled and (
            time.monotonic() < self.blocks.until(SELECTION) or not any(map(len, contest.ratios.values()))
        ):
            await self.blocks.block(lambda: self.some(names, pairs, contest, SELECTION))
            for name in names:
                if name in contest.out and name not in self.speeds:
                    await self.settle(name, self.selected(pairs[name], contest.out[name]))
        fast = [name for name in contest.alive if pairs[name].wall.median > self.floor]
        for name in contest.alive:
            if name not in fast:
                await self.settle(name, self.selected(pairs[name], "the time is over"))
        return sorted(fast, key=lambda name: -pairs[name].wall.median), pairs

    def selected(self, pairs: Pairs, why: str) -> Speed:
        """What the selection says of a contender."""
        verdict = pairs.decide(self.floor) or (NOT_FASTER if why == TOO_SLOW else UNDECIDED, why)
        return self.speed(verdict, pairs, False)

    async def settle(self, name: str, speed: Speed) -> None:
        """A verdict is final."""
        self.speeds[name] = speed
        if self.told is not None:
            await self.told(name, speed)

    def speed(self, verdict: tuple[str, str], pairs: Pairs, remeasured: bool) -> Speed:
        """All that is known of a contender."""
        assert self.calibration is not None
        receipt = {
            "spoiled": self.spoiled, "alpha": pairs.alpha, "min_speedup": self.options.min_speedup,
            "start": self.start.wall, "same_output": self.terms.same_output, "calibration": self.calibration.to_json(),
        }  # fmt: skip
        found = interval(pairs.wall)
        return Speed(
            *verdict, speedup=found, total=found, cpu=math.exp(pairs.cpu.median) if len(pairs.cpu) else None,
            memory=pairs.memory.median if self.options.memory and len(pairs.memory) else None, remeasured=remeasured,
            pairs=len(pairs.wall), receipt=receipt,
        )  # fmt: skip
