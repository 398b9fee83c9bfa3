"""Measures: parents in their places, calibration, rounds of pairs. All of it blocks and runs in one thread.

Rounds are taken in chunks; what a chunk gave counts only if nothing else was seen to run meanwhile.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bakeoff.judge.codec import parse
from bakeoff.judge.codec.wire import ITERATOR
from bakeoff.judge.timing.evidence import Evidence, interval, mean
from bakeoff.judge.timing.load import LoadGuard
from bakeoff.judge.timing.parent import Code, Files, Gone, OriginalChangedError, Parent, Place, TimingError
from bakeoff.judge.timing.plan import Input, Known, Plan, choice
from bakeoff.judge.timing.sample import Job, Sample, compare
from bakeoff.judge.timing.speed import Calibration

PARENTS = 5
"""Parents that are alive at once; rounds go to them in turns."""
CHUNK = 0.15
"""Seconds after which the load is looked at."""
AGAINST_ITSELF = 9
"""Rounds of the calibration: what the first interval at alpha .05 takes."""


@dataclass(slots=True)
class Round:
    """One fork of each contender, with what they were asked."""

    job: Job
    samples: dict[int, Sample] = field(default_factory=dict)


class Bench:
    """The parents of one measurement and what they are asked. `kill`, from another thread, ends all.

    Args:
        place: where.
        code: what.
        contenders: the changed files of each; the first is the original, with its contents of all files that others
            change.
        seed: of everything that is left to chance.
        seconds: that one fork may take.

    Attributes:
        lost: seconds so far in which forks loaded contenders, or others had their processor.
    """

    def __init__(self, place: Place, code: Code, contenders: Sequence[Files], seed: int, seconds: float = 30.0) -> None:
        self.place = place
        self.code = code
        self.contenders = contenders
        self.chance = random.Random(seed)  # noqa: S311 - to be repeatable, not secret
        self.seconds = seconds
        self.cpu = place.cpus[-1] if place.cpus else None
        self.load = LoadGuard(self.cpu)
        self.parents: list[Parent] = []
        self.started = 0
        self.turn = 0
        self.lost = 0.0
        self._killed = False
        self.waits = False
        self.changing = False
        self.modules: list[str] = []
        self.kept: set[str] = set()
        self.keeping: dict[int, list[str]] = {}

    def kill(self) -> None:
        """End all processes; whoever measures gets `Gone`. May be called from any thread."""
        self._killed = True
        for parent in list(self.parents):
            parent.kill()

    def close(self) -> None:
        """End all processes and let go of everything."""
        for parent in self.parents:
            parent.close()
        self.parents = []

    def renew(self, count: int = PARENTS) -> None:
        """Parents of their own for what follows, all started at once."""
        self.close()
        for _ in range(count):
            self._start()
        for parent in self.parents:
            parent.ready()
        self._preload(self.parents)

    def _preload(self, parents: Sequence[Parent]) -> None:
        """Have parents import what the original was seen to import, so that no fork has to.

        Raises:
            Gone: all were ended.
            TimingError: one ended over it.
        """
        try:
            for parent in parents if self.modules else ():
                parent.preload(self.modules)
            for parent in parents if self.modules else ():
                parent.preloaded()
        except Gone as failure:
            if self._killed:
                raise
            raise TimingError(f"the process for timing cannot import {', '.join(self.modules)}: {failure}") from failure

    def _start(self) -> Parent:
        if self._killed:
            raise Gone("cancelled")
        parent = Parent(self.place, self.code, self.contenders, self.chance.randrange(1, 1 << 32), self.cpu)
        self.parents.append(parent)
        self.started += 1
        if self._killed:
            parent.kill()
        return parent

    def sample(self, contender: int, job: Job, *, parent: int | None = None) -> Sample:
        """A sample; a parent that was lost is replaced, and its loss is the contender's doing.

        Raises:
            Gone: all were ended.
        """
        place = (self.turn if parent is None else parent) % len(self.parents)
        job = replace(job, depth=self.chance.randrange(13), seed=self.chance.randrange(1 << 30))
        try:
            sample = self.parents[place].sample(contender, job)
        except Gone as failure:
            if self._killed:
                raise
            lost = self.parents.pop(place)
            lost.close()
            fresh = self._start()
            fresh.ready()
            self._preload([fresh])
            self.parents.insert(place, self.parents.pop())
            sample = Sample(contender)
            sample.fail("crash", f"the parent of its fork was lost: {failure}")
        used = float(sample.facts.get("cpu_seconds", 0.0))
        self.load.used += used
        self.lost += (sample.load + (0 if self.waits else max(0.0, sample.outside - 1e9 * used))) / 1e9
        return sample

    def keeps(self, contender: int, job: Job) -> list[str]:
        """Names of what a contender keeps from call to call and the original does not, by a fork of its own."""
        if contender not in self.keeping:
            seen = self.sample(contender, replace(job, probe=True, repeats=0, extra=0))
            self.keeping[contender] = [name for name in seen.kept if name not in self.kept]
        return self.keeping[contender] if job.repeats else []

    def round(self, plan: Plan, contenders: Sequence[int]) -> Round:
        """One fork of each, in a random order, from the next parent.

        Raises:
            OriginalChangedError: the original does not give what it gave.
        """
        taken = Round(plan.job(self.chance))
        self.turn += 1
        order = list(contenders)
        self.chance.shuffle(order)
        expected = [known.expected for known in plan.inputs]
        for contender in order:
            sample = self.sample(contender, taken.job)
            if sample.failure is None:
                compare(sample, expected)
            if sample.failure is None and contender:
                sample.keeps = self.keeps(contender, taken.job)
            taken.samples[contender] = sample
        original = taken.samples.get(0)
        if original is not None and original.failure is not None:
            call = None if original.place is None else plan.inputs[original.place].call
            raise OriginalChangedError(f"the original itself: {original.failure}: {original.detail}", call)
        return taken

    def chunk(self, plan: Plan, contenders: Sequence[int], until: float) -> list[Round]:
        """Rounds for a moment; none where something else was seen to run.

        Args:
            plan: of the phase.
            contenders: their numbers, the original's among them.
            until: when to stop, by `time.monotonic`; one round is taken in any case.
        """
        end = min(until, time.monotonic() + CHUNK)
        begun = self.load.begin()
        rounds = [self.round(plan, contenders)]
        while time.monotonic() < end:
            rounds.append(self.round(plan, contenders))
        return rounds if self.load.counts(self.load.since(begun)) else []

    def learn(self, inputs: Sequence[Input]) -> tuple[list[Known], Counter[str], bool, bool]:
        """Learn what the original makes of each input, by two forks of two parents that agree.

        Returns the inputs that can be used, why others cannot, whether results are iterators, and whether files are
        kept from growing.

        Raises:
            TimingError: there is none.
        """
        calls = [given.call for given in inputs]
        ones = [1] * len(calls)
        order = list(range(len(calls)))
        job = Job(calls, ones, 1, order, 0, 0, self.seconds, probe=True)
        first, keep_files = self.sample(0, job, parent=0), True
        if first.failure is not None:
            job, keep_files = replace(job, keep_files=False), False
            first = self.sample(0, job, parent=0)
        force = any(_lazy(message) for message in first.messages)
        again = self.sample(0, replace(job, keep_files=False, force=force), parent=1)
        for sample in (first, again):
            if sample.failure is not None:
                raise TimingError(f"the original cannot be timed: {sample.failure}: {sample.detail}")
        if keep_files and first.messages != again.messages:
            third = self.sample(0, replace(job, keep_files=False, force=force), parent=2)
            if third.messages == again.messages:
                keep_files, first = False, third
        timed = (again,) if force else (first, again)
        found, dropped = [], Counter[str]()
        for place, given in enumerate(inputs):
            message = first.messages[place]
            if message.startswith(b"?"):
                dropped["incomparable"] += 1
            elif message != again.messages[place] or len(first.digests[place]) > 1:
                dropped["another result each time"] += 1
            else:
                taken = float(min(sample.warm[place][0][0] for sample in timed))
                found.append(Known(given.call, given.fresh, message, taken))
        if not found:
            why = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
            raise TimingError(f"there is no input that the original can be timed on: {why or 'none was given'}")
        self.kept = {*first.kept, *again.kept}
        self.waits = first.waits > 0 and again.waits > 0
        self.changing = bool(first.changes)
        self.modules = first.modules
        self._preload(self.parents)
        return found, dropped, force, keep_files

    def plan(self, known: Sequence[Known], force: bool, keep_files: bool) -> Plan:
        """A choice of inputs for a phase, and how often each is called."""
        chosen, reuse = choice(known, self.chance), not self.changing
        added = bool(self.code.added)
        return Plan.of(chosen, force, keep_files, self.seconds, waits=self.waits, reuse=reuse, added=added)

    def itself(self, plan: Plan, dropped: Mapping[str, int], until: float) -> Calibration:
        """The original against itself: what noise there is. Nine rounds, or fewer where the time is over."""
        evidence = Evidence(plan.weights)
        loads: list[float] = []
        for count in range(AGAINST_ITSELF):
            begun = self.load.begin()
            one, two = self.round(plan, [0]), self.round(plan, [0])
            evidence.add(one.samples[0], two.samples[0], replace(one.job, order=two.job.order))
            loads.append(self.load.since(begun).total)
            if count and time.monotonic() > until:
                break
        load = mean(loads)
        # A moment's readings are coarse; their mean is not.
        idle = self.load.calibrate(load)
        ratio = evidence.ratio
        return Calibration(
            ratio.spread, interval(ratio), idle, load, len(plan.inputs), len(plan.weights.fresh), dict(dropped),
            plan.weights.work / 1e9,
        )  # fmt: skip


def _lazy(message: bytes) -> bool:
    """Whether the outcome of a call is an iterator."""
    if message.startswith(b"?"):
        return False
    parts = parse(message).parts
    return getattr(parts[1], "tag", None) == ITERATOR
