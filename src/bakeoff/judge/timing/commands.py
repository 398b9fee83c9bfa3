"""Whole commands side by side, in any language: one process a sample, in the slot of each, by the same rules."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.engine.process import Command
from bakeoff.judge.timing.bench import PATIENT
from bakeoff.judge.timing.bench_lock import BLOCK, BenchLock
from bakeoff.judge.timing.block import in_block
from bakeoff.judge.timing.evidence import DECIDE, REPORT, interval
from bakeoff.judge.timing.field import TOO_SLOW, Field
from bakeoff.judge.timing.load import LoadWatch
from bakeoff.judge.timing.parent import Place, TimingError, place
from bakeoff.judge.timing.race import SELECTION, Options, Raced, Told
from bakeoff.judge.timing.speed import FASTER, NOT_FASTER, UNDECIDED, Calibration, Speed
from bakeoff.judge.timing.statistics import MedianSequence

COMMANDS = Options(fork_seconds=600.0)
AGAINST_ITSELF = 3
"""Pairs of the calibration: a command takes long."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a command.

    Attributes:
        wall: seconds, until it and all that it waited for ended.
        cpu: seconds of processor time of all of them.
        maxrss: kilobytes, of the largest.
        status: exit status, -N after signal N; None when it took too long.
    """

    wall: float
    cpu: float
    maxrss: int
    status: int | None


class Runner:
    """Runs commands, one at a time; `kill`, from another thread, ends the one that runs and all later ones."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.used = 0.0
        self._lock = threading.Lock()
        self._running: int | None = None
        self._killed = False

    def run(self, where: Place) -> Ran:
        """Run it to its end, without input, its output thrown away.

        Raises:
            TimingError: it cannot be started.
        """
        since = time.perf_counter()
        with self._lock:
            if self._killed:
                raise TimingError("cancelled")
            try:
                process = subprocess.Popen(
                    list(where.argv), cwd=where.cwd, env=dict(where.env), stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
            except OSError as failure:
                raise TimingError(f"cannot start {where.argv[0]!r}: {failure.strerror}") from failure
            self._running = process.pid
        late = threading.Event()
        timer = threading.Timer(self.seconds, self._end, [late])
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - since
        timer.cancel()
        timer.join()
        with self._lock:
            _kill_group(process.pid)  # what it left in its session
            self._running = None
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu = used.ru_utime + used.ru_stime
        self.used += cpu
        return Ran(wall, cpu, used.ru_maxrss, None if late.is_set() else process.returncode)

    def kill(self) -> None:
        """End what runs; nothing is started any more."""
        self._killed = True
        self._end()

    def _end(self, late: threading.Event | None = None) -> None:
        if late is not None:
            late.set()
        with self._lock:
            if self._running is not None:
                _kill_group(self._running)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


class _Pairs:
    """What is known of one contender."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.wall = MedianSequence(alpha, REPORT)
        self.cpu = MedianSequence(alpha)
        self.memory = MedianSequence(alpha)
        self.failure: tuple[str, str] | None = None

    def add(self, original: Ran, other: Ran) -> float | None:
        if other.status != 0:
            how = "it took too long" if other.status is None else f"it ended with status {other.status}"
            self.failure = self.failure or ("timeout" if other.status is None else "crash", how)
            return None
        ratio = math.log(original.wall / other.wall)
        self.wall.add(ratio)
        if original.cpu > 0 and other.cpu > 0:
            self.cpu.add(math.log(original.cpu / other.cpu))
        self.memory.add(other.maxrss / max(1, original.maxrss))
        return ratio

    def decide(self, floor: float) -> tuple[str, str] | None:
        if self.failure is not None:
            return self.failure
        if self.wall.high(self.alpha) < floor:
            return NOT_FASTER, f"at most {math.exp(self.wall.high(self.alpha)):.3g} times as fast"
        return (FASTER, "") if self.wall.low(self.alpha) > floor else None


async def race_commands(
    original: Command,
    contenders: Mapping[str, Command],
    options: Options = COMMANDS,
    *,
    lock: BenchLock | None = None,
    kept: Mapping[str, Speed] | None = None,
    told: Told | None = None,
) -> Raced:
    """Measure a command in every contender's slot against the original's; by wall time, until it has ended.

    Each is run once before it counts. Cancelled, the process that runs is gone before this returns.

    Args:
        original: the command where nothing was changed.
        contenders: the command in the slot of each. It must end with status 0.
        options: how; `fork_seconds` is what one run may take.
        lock: of this machine.
        kept: verdicts of an earlier race that was interrupted.
        told: awaited with each verdict as soon as it is final.

    Passes on TimingError: the original cannot be run, or fails.
    """
    speeds = dict(kept or {})
    left = {name: place(command) for name, command in contenders.items() if name not in speeds}
    calibration = None
    if left:
        running = _Commands(place(original), left, options, lock or BenchLock(), told, speeds)
        await running.run()
        calibration = running.calibration
    return Raced.of({name: speeds[name] for name in contenders}, calibration)


class _Commands:
    """One race of commands under way."""

    def __init__(
        self,
        original: Place,
        contenders: Mapping[str, Place],
        options: Options,
        lock: BenchLock,
        told: Told | None,
        speeds: dict[str, Speed],
    ) -> None:
        self.places = {"": original, **contenders}
        self.names = list(contenders)
        self.options = options
        self.lock = lock
        self.told = told
        self.speeds = speeds
        self.calibration: Calibration | None = None
        self.runner = Runner(options.fork_seconds)
        self.watch = LoadWatch(None)
        self.chance = random.Random(options.seed)  # noqa: S311 - to be repeatable, not secret
        self.floor = math.log(options.min_speedup)
        self.usual = 0.0
        self.spoiled = 0
        self._row = 0

    async def run(self) -> None:
        since = time.monotonic()
        self.end = since + self.options.seconds
        await self.block(self.calibrate)
        finalists = self.names
        so_far: dict[str, _Pairs] = {}
        if len(self.names) > 1:
            finalists, so_far = await self.select(since + SELECTION * self.options.seconds)
        won = None
        for attempt, name in enumerate(finalists):
            if won is not None:
                verdict = so_far[name].decide(self.floor) or (UNDECIDED, "")
                speed = self.speed(verdict, so_far[name], False)
                await self.settle(name, replace(speed, detail=f"not measured again, as {won} won"))
                continue
            pairs = _Pairs(DECIDE / 2**attempt)
            while pairs.decide(self.floor) is None and (time.monotonic() < self.end or not len(pairs.wall)):
                await self.block(lambda name=name, pairs=pairs: self.some([name], {name: pairs}, None, self.end))  # type: ignore[misc]
            speed = self.speed(pairs.decide(self.floor) or (UNDECIDED, "the time is over"), pairs, True)
            await self.settle(name, speed)
            won = name if speed.verdict == FASTER else None

    def calibrate(self) -> None:
        """Run everything once, then the original against itself.

        Raises:
            TimingError: the original fails.
        """
        first = self.runner.run(self.places[""])
        if first.status != 0:
            how = "takes too long" if first.status is None else f"ends with status {first.status}"
            raise TimingError(f"the command {how} where nothing was changed: there is nothing to compare with")
        ratio, loads = MedianSequence(REPORT), []
        for _ in range(AGAINST_ITSELF):
            before, used, own = self.watch.read(), self.runner.used, time.process_time()
            one, two = self.runner.run(self.places[""]), self.runner.run(self.places[""])
            ratio.add(math.log(one.wall / two.wall))
            after = self.watch.read()
            spent = self.runner.used - used + time.process_time() - own
            loads.append(self.watch.between(before, after, 0.0, spent).total)
            if time.monotonic() > self.end:
                break
        load = sum(loads) / len(loads)
        self.usual = load if load >= 0.3 else 0.0
        self.calibration = Calibration(ratio.spread, interval(ratio), load < 0.3, load, 1, 0, {}, first.wall)
        for name in self.names:
            self.runner.run(self.places[name])

    def round(self, names: Sequence[str]) -> dict[str, Ran] | None:
        """One run of each, in a random order; None where something else was seen to run meanwhile."""
        order = ["", *names]
        self.chance.shuffle(order)
        before, used, own = self.watch.read(), self.runner.used, time.process_time()
        runs = {name: self.runner.run(self.places[name]) for name in order}
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

    def some(self, names: Sequence[str], pairs: Mapping[str, _Pairs], contest: Field | None, until: float) -> None:
        """Rounds for a block's time, one at least."""
        end = min(until, time.monotonic() + BLOCK)
        while True:
            alive = names if contest is None else list(contest.alive)
            runs = self.round(alive)
            if runs is not None:
                self.take(runs, alive, pairs, contest)
            done = contest.settled if contest else all(pairs[name].decide(self.floor) for name in alive)
            if done or time.monotonic() >= end:
                return

    def take(
        self, runs: Mapping[str, Ran], names: Sequence[str], pairs: Mapping[str, _Pairs], contest: Field | None
    ) -> None:
        """Add a round to what is known.

        Raises:
            TimingError: the original failed.
        """
        if runs[""].status != 0:
            raise TimingError(f"the command ended with status {runs[''].status} where nothing was changed")
        ratios = {}
        for name in names:
            ratio = pairs[name].add(runs[""], runs[name])
            if ratio is not None:
                ratios[name] = ratio
            elif contest is not None:
                contest.drop(name, (pairs[name].failure or ("", ""))[1])
        if contest is not None:
            contest.add(ratios)

    async def select(self, until: float) -> tuple[list[str], dict[str, _Pairs]]:
        """Race all; who may be measured again, the fastest first."""
        contest = Field(self.names, self.floor)
        pairs = {name: _Pairs(DECIDE / len(self.names)) for name in self.names}
        while not contest.settled and time.monotonic() < until:
            await self.block(lambda: self.some(self.names, pairs, contest, until))
        fast = [name for name in contest.alive if pairs[name].wall.median > self.floor]
        for name in self.names:
            if name not in fast:
                why = contest.out.get(name, "the time is over")
                verdict = pairs[name].decide(self.floor) or (NOT_FASTER if why == TOO_SLOW else UNDECIDED, why)
                await self.settle(name, self.speed(verdict, pairs[name], False))
        return sorted(fast, key=lambda name: -pairs[name].wall.median), pairs

    async def settle(self, name: str, speed: Speed) -> None:
        self.speeds[name] = speed
        if self.told is not None:
            await self.told(name, speed)

    def speed(self, verdict: tuple[str, str], pairs: _Pairs, remeasured: bool) -> Speed:
        assert self.calibration is not None
        receipt = {
            "spoiled": self.spoiled, "alpha": pairs.alpha, "min_speedup": self.options.min_speedup,
            "calibration": self.calibration.to_json(),
        }  # fmt: skip
        found = interval(pairs.wall)
        return Speed(
            *verdict, speedup=found, total=found, cpu=math.exp(pairs.cpu.median) if len(pairs.cpu) else None,
            memory=pairs.memory.median if self.options.memory and len(pairs.memory) else None, remeasured=remeasured,
            pairs=len(pairs.wall), receipt=receipt,
        )  # fmt: skip

    async def block(self, work: Callable[[], None]) -> None:
        await in_block(self.lock, work, self.runner.kill)
