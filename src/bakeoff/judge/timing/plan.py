"""Choice of the inputs that forks are asked to call, and how often."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.judge.timing.evidence import HEAVY, LONG, Weights
from bakeoff.judge.timing.sample import Job

BATCH = 10_000.0
"""Nanoseconds that one batch should take."""
MOST_CALLS = 64
"""Calls in one batch."""
LIGHT = 0.1
"""Share of the time of all inputs that the lightest may take together to be left out."""
SLIGHT = 0.25
"""Share of the mean time that such an input takes at most."""
MOST_INPUTS = 16
"""Inputs of one fork."""
FEW_INPUTS, ENOUGH_WORK = 6, 20e6
"""Inputs that do where they take more nanoseconds than that: more rounds tell more than longer ones."""
WORK = 250e6
"""Nanoseconds that one call on each input may take together, unless one of each kind takes more."""
SINGLE = 5e6
"""Nanoseconds from which calls are not repeated: the first one is warm enough."""
REPEATS, MOST_REPEATS = 2, 64
"""Batches of each input in a fork; more where the clock outside needs more work to agree."""
MOST_WORK = 60e6
"""Nanoseconds of calls in a fork."""
SEEN_WORK = 2e6
"""Nanoseconds of calls in a fork, so that a tenth of them shows on the clock outside."""


@dataclass(frozen=True, slots=True)
class Input:
    """One call to time.

    Attributes:
        call: `encode((args, kwargs))`, args a tuple and kwargs a dict.
        fresh: no test shows it: it was derived.
    """

    call: bytes
    fresh: bool = False


@dataclass(slots=True)
class Known:
    """An input, with what the original makes of it."""

    call: bytes
    fresh: bool
    expected: bytes
    nanoseconds: float


@dataclass(slots=True)
class Plan:
    """Inputs of a phase, and how often each is called."""

    inputs: list[Known]
    calls: list[int]
    weights: Weights
    force: bool
    keep_files: bool
    seconds: float
    reuse: bool = False
    repeats: int = REPEATS
    extra: int = 0

    @classmethod
    def of(
        cls,
        chosen: list[Known],
        force: bool,
        keep_files: bool,
        seconds: float,
        *,
        waits: bool,
        reuse: bool,
        added: bool = False,
    ) -> Plan:
        """Choose how often each is called, and what counts how much.

        Args:
            chosen: inputs.
            force: results are iterators, which are read.
            keep_files: files cannot grow.
            seconds: that a fork may take.
            waits: the original waits by itself.
            reuse: arguments can be used again, as no call changes them.
            added: contenders give instances attributes.
        """
        work = sum(each.nanoseconds for each in chosen)
        calls = [max(1, min(MOST_CALLS, round(BATCH / each.nanoseconds))) for each in chosen]
        weights = Weights(
            [place for place, each in enumerate(chosen) if each.fresh],
            [place for place, each in enumerate(chosen) if each.nanoseconds >= HEAVY * work],
            waits,
            work,
            added,
        )
        return cls(chosen, calls, weights, force, keep_files, seconds, reuse, 0 if work >= SINGLE else REPEATS)

    def job(self, chance: random.Random) -> Job:
        """A job with an order of its own."""
        order = list(range(len(self.inputs)))
        chance.shuffle(order)
        calls = [known.call for known in self.inputs]
        return Job(
            calls, self.calls, self.repeats, order, 0, 0, self.seconds, self.force, self.keep_files, self.extra,
            warm_up=bool(self.repeats) and self.weights.work < LONG * len(order),
        )  # fmt: skip

    def show(self) -> None:
        """Have forks do so much work that what is gained shows on the clock outside."""
        if self.repeats:
            self.grow(math.ceil(SEEN_WORK / ((1 + self.repeats + self.extra) * self._once())))

    def _once(self) -> float:
        """Nanoseconds of one batch of each input."""
        return sum(count * known.nanoseconds for count, known in zip(self.calls, self.inputs, strict=True))

    def grow(self, factor: int) -> bool:
        """Have forks do that many times as much work, up to `MOST_WORK`; whether they do more now."""
        before = self.repeats, self.extra
        if self.repeats and self.reuse:
            each = self._once()
            wanted = factor * (1 + self.repeats + self.extra) - 1 - self.repeats
            self.extra = max(self.extra, min(wanted, int(MOST_WORK / each)))
        elif self.repeats:
            self.repeats = min(MOST_REPEATS, factor * self.repeats)
        return before != (self.repeats, self.extra)


def weighty(known: Sequence[Known]) -> list[Known]:
    """Without the lightest, on which next to no time is spent: many tests of corner cases say nothing of speed."""
    work = sum(each.nanoseconds for each in known)
    rest = LIGHT * work
    found = []
    for each in sorted(known, key=lambda each: each.nanoseconds):
        rest -= each.nanoseconds
        if rest < 0 or each.nanoseconds >= SLIGHT * work / len(known):
            found.append(each)
    return found


def choice(known: Sequence[Known], chance: random.Random) -> list[Known]:
    """Some of them, half of them fresh where there are such."""
    known = [each for each in known if each.nanoseconds <= WORK] or known
    fresh = weighty([each for each in known if each.fresh])
    seen = weighty([each for each in known if not each.fresh])
    chance.shuffle(fresh)
    chance.shuffle(seen)
    half = max(MOST_INPUTS // 2, MOST_INPUTS - len(fresh))
    if fresh:
        half = min(half, len(fresh))
    return _few(fresh[: max(MOST_INPUTS // 2, MOST_INPUTS - len(seen))], seen[:half])


def _few(fresh: list[Known], seen: list[Known]) -> list[Known]:
    """Of both as many as are enough; of each one at least, as none else shows what the other is good for."""
    work = sum(each.nanoseconds for each in (*fresh, *seen))
    while work > ENOUGH_WORK and (more := fresh if len(fresh) >= len(seen) else seen)[1:]:
        if len(fresh) + len(seen) > FEW_INPUTS:
            out = more[-1]  # any: they were shuffled
        elif work > WORK:
            out = max(more, key=lambda each: each.nanoseconds)
        else:
            break
        more.remove(out)
        work -= out.nanoseconds
    return [*fresh, *seen]
