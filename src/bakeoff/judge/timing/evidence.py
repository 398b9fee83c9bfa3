"""Evidence on a version of a function: its samples beside the original's. Plain values in, a verdict out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.judge.timing.sample import Job, Sample
from bakeoff.judge.timing.speed import FASTER, MIXED, NOT_FASTER, Interval, Verdict
from bakeoff.judge.timing.statistics import MedianSequence

DECIDE, REPORT = 0.02, 0.05
"""How often a decision, and an interval that is shown, may be wrong; the looks in between included."""

LONG = 1e5
"""Nanoseconds of one call from which it counts although something else ran meanwhile, by its processor time. The fork
says what that was, so the gain must show on the clock outside all the more. Of sixteen calls of half a millisecond
hardly ever all go undisturbed on a busy machine: with a larger limit no pair counted there."""

HEAVY = 0.1
"""Share of the total from which an input is heavy."""

GAP = math.log(1.25)
"""How much faster repeated calls must be than first ones before that is called state across calls; and first calls
must save less than half of what later ones do."""
FIRST_CALLS, FIRST_LEAST = 100, 50_000.0
"""A first call may cost more than the original's by what these many calls save, or these nanoseconds."""
IMPORT_CALLS, IMPORT_LEAST = 1000, 1e6
"""The same for loading the module."""

HIDDEN, HIDDEN_LEAST = 0.3, 30_000.0
"""Time that passes outside and is not reported: the share of the alleged gain, and nanoseconds, that are too much."""
AGREED = 0.5
"""The share of the alleged gain that may be unaccounted for at most, before it is believed."""
MOST_WORK = 16
"""Times as much work as before that is asked for at once."""
RESOLVED = 1.5
"""Median deviations that some twenty pairs tell apart."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of inputs, known before contenders are measured.

    Attributes:
        fresh: places of those that no test shows.
        heavy: places of those that take a tenth of the total or more.
        waits: the original sleeps or waits, so that processor time says nothing.
        work: nanoseconds of one call on each.
        added: contenders give instances attributes: these are made and freed outside of the calls.
    """

    fresh: Sequence[int]
    heavy: Sequence[int]
    waits: bool
    work: float
    added: bool = False


class Evidence:
    """One contender's pairs with the original.

    Attributes:
        ratio: mean logarithm, over the inputs, of how many times faster.
        disturbed: pairs that do not count, as something else ran meanwhile.
        keeps: names of what keeps something of each call: then `ratio` is of first calls, and `later` of the others.
        failure: what ended it, with its detail; None while it goes on.
    """

    def __init__(self, weights: Weights, alpha: float = DECIDE, more: Sequence[float] = ()) -> None:
        """Prepare.

        Args:
            weights: of the inputs.
            alpha: of the decision.
            more: other alphas that bounds of `ratio` are asked for.
        """
        self.weights = weights
        self.alpha = alpha
        self.ratio = MedianSequence(alpha, REPORT, *more)
        self.fresh, self.total, self.cold = (MedianSequence(alpha, REPORT) for _ in range(3))
        self.later, self.cold_saved = MedianSequence(alpha), MedianSequence(alpha)
        self.heavy = {place: MedianSequence(alpha / len(weights.heavy)) for place in weights.heavy}
        self.hidden, self.spent, self.unseen, self.gain = (MedianSequence(alpha) for _ in range(4))
        self.first, self.loading, self.saved, self.cpu = (MedianSequence(alpha) for _ in range(4))
        self.disturbed = 0
        self.keeps: list[str] = []
        self.failure: Verdict | None = None

    def add(self, original: Sample, other: Sample, job: Job) -> float | None:
        """Take a pair; its `ratio`, or None where it is dropped."""
        if other.failure is not None:
            self.failure = self.failure or (other.failure, other.detail)
            return None
        self.keeps = other.keeps
        pairs = self._times(original, other, job)
        judged = pairs if pairs is None or not other.keeps else self._first_times(original, other, job)
        if pairs is None or judged is None:
            self.disturbed += 1
            return None
        ratio = self._judge(judged)
        saved = [one - two for one, two in pairs.values()]
        self._account(original, other, job, saved)
        if job.repeats:
            self.later.add(ratio if judged is pairs else mean([math.log(one / two) for one, two in pairs.values()]))
            self._first_calls(original, other, job, saved)
        return ratio

    def _judge(self, pairs: Mapping[int, tuple[float, float]]) -> float:
        """Take the times of one call on each input, by its place."""
        ratios = {place: math.log(one / two) for place, (one, two) in pairs.items()}
        ratio = mean(list(ratios.values()))
        self.ratio.add(ratio)
        fresh = [ratios[place] for place in self.weights.fresh if place in ratios]
        if fresh:
            self.fresh.add(mean(fresh))
        self.total.add(math.log(sum(one for one, _ in pairs.values()) / sum(two for _, two in pairs.values())))
        for place, sequence in self.heavy.items():
            if place in ratios:
                sequence.add(ratios[place])
        self.saved.add(mean([one - two for one, two in pairs.values()]))
        return ratio

    def _account(self, original: Sample, other: Sample, job: Job, saved: Sequence[float]) -> None:
        """Set what is said to be gained against the clock outside and the kernel's account."""
        gain = sum(job.repeated(place) * each for place, each in enumerate(saved))
        if job.repeats:
            gain += sum(one[0] - two[0] for one, two in zip(original.cold, other.cold, strict=True))
        self.gain.add(gain)
        self.hidden.add(float(other.outside - original.outside + gain))
        spent = 1e9 * (_cpu(other) - _cpu(original)) + gain
        self.spent.add(spent)
        self.unseen.add(spent - max(0, other.load - original.load))
        self._besides(original, other, job)

    def _times(self, original: Sample, other: Sample, job: Job) -> dict[int, tuple[float, float]] | None:
        """Of one call on each input, of both, by the same clock; by the input's place."""
        pairs = {}
        for place in range(len(job.inputs)):
            one, two = (sample.quiet(place, job, self.weights.waits) for sample in (original, other))
            if one is None or two is None:
                if original.used(place, job) < LONG:
                    return None
                one, two = original.used(place, job), other.used(place, job)
            pairs[place] = one, two
        return pairs

    def _first_times(self, original: Sample, other: Sample, job: Job) -> dict[int, tuple[float, float]] | None:
        """The same of first calls; where there are others, not of the very first, which may build what all use."""
        pairs = {}
        for place in job.order[1:] or job.order:
            one, two = (sample.first(place, self.weights.waits) for sample in (original, other))
            if one is None or two is None:
                if original.cold[place][1] < LONG:
                    return None
                one, two = (float(max(1, sample.cold[place][1])) for sample in (original, other))
            pairs[place] = one, two
        return pairs

    def _besides(self, original: Sample, other: Sample, job: Job) -> None:
        """The very first call, loading, processor time."""
        first = job.order[0]
        self.first.add(float(other.cold[first][0] - original.cold[first][0]))
        self.loading.add(float(other.load - original.load))
        if _cpu(original) > 0 and _cpu(other) > 0:
            self.cpu.add(math.log(_cpu(original) / _cpu(other)))

    def _first_calls(self, original: Sample, other: Sample, job: Job, saved: Sequence[float]) -> None:
        """First calls on inputs of the second half: by then the code is warm, and only what it knows of them is not."""
        later = job.later
        self.cold.add(mean([math.log(original.cold[place][0] / other.cold[place][0]) for place in later]))
        # Any single call costs some time besides, so a ratio is smaller; what is saved is not.
        cold = mean([float(original.cold[place][0] - other.cold[place][0]) for place in later])
        self.cold_saved.add(cold - mean([saved[place] for place in later]) / 2)

    def decide(self, floor: float) -> Verdict | None:
        """The verdict and why, as soon as there is one.

        Args:
            floor: logarithm of the least speed-up that counts.
        """
        if self.failure is not None:
            return self.failure
        alpha, ratio, fresh = self.alpha, self.ratio, self.fresh
        if self.keeps and (remembered := self._remembered()) is not None:
            return remembered
        if ratio.high(alpha) < floor:
            return NOT_FASTER, f"at most {math.exp(ratio.high(alpha)):.3g} times as fast"
        if fresh.high(alpha) < floor:
            seen = "; only on inputs that tests show is it faster" if ratio.low(alpha) > floor else ""
            return NOT_FASTER, f"at most {math.exp(fresh.high(alpha)):.3g} times as fast on fresh inputs{seen}"
        if ratio.low(alpha) <= floor or (len(fresh) and fresh.low(alpha) <= floor):
            return None
        if (objection := self._objection()) is not None:
            return objection
        sure = self.agreed and self.total.low(alpha) > -0.02 and self._faster_at_first(floor)
        return (FASTER, self._by_what()) if sure else None

    def dropped(self, floor: float) -> Verdict | None:
        """Verdict that ends its part in a selection: any but `faster`."""
        verdict = self.decide(floor)
        return None if verdict is None or verdict[0] == FASTER else verdict

    def missing(self, floor: float) -> str:
        """Reason why nothing is decided when the time is over."""
        if len(self.ratio) and self.ratio.low(self.alpha) > floor and not self.agreed:
            return "what it gains by its own clock did not show yet on the clock outside of its process"
        if self.ratio.low(self.alpha) > floor and not self._faster_at_first(floor):
            return "it did not show within the time that first calls are faster, too, not repeated ones alone"
        return "the time is over"

    def _objection(self) -> Verdict | None:
        """Objection to what is faster by its own clock; None where there is none."""
        alpha = self.alpha
        if self.total.high(alpha) < 0:
            return MIXED, f"in total it takes {math.exp(-self.total.median):.3g} times as long"
        for place, sequence in self.heavy.items():
            if sequence.high(alpha / len(self.heavy)) < 0:
                slower = math.exp(-sequence.median)
                return MIXED, f"input {place}, a heavy one, takes {slower:.3g} times as long"
        clocks = [(self.hidden, "pass"), (self.unseen, "of processor time are used")]
        share = AGREED if self.weights.added else HIDDEN
        for clock, said in clocks[:1] if self.weights.waits else clocks:  # who waits less uses no less of a processor
            if clock.low(alpha) > max(share * self.gain.median, HIDDEN_LEAST):
                least, gain = clock.low(alpha) / 1e3, self.gain.median / 1e3
                return "tampering", f"at least {least:.0f} us more {said} than it reports, of {gain:.0f} us gained"
        if (remembered := self._remembered()) is not None:
            return remembered
        if self.first.low(alpha) > max(FIRST_LEAST, FIRST_CALLS * self.saved.median):
            return "cross-call-state", f"its first call takes {self.first.median / 1e3:.0f} us more"
        if self.loading.low(alpha) > max(IMPORT_LEAST, IMPORT_CALLS * self.saved.median):
            return "cross-call-state", f"importing it takes {self.loading.median / 1e6:.1f} ms more"
        return None

    def _remembered(self) -> Verdict | None:
        """Objection that it is faster only where it was asked the same before."""
        alpha = self.alpha
        if self.later.low(alpha) - self.cold.high(alpha) > GAP and self.cold_saved.high(alpha) < 0:
            cold, warm = math.exp(self.cold.median), math.exp(self.later.median)
            return "cross-call-state", f"{cold:.3g} times as fast at the first call on an input, {warm:.3g} later"
        return None

    def _faster_at_first(self, floor: float) -> bool:
        """Whether first calls are faster, too: what remembers its last answers gains nothing there.

        That nothing was found against it is not enough: after a few pairs nothing is known of first calls yet.
        """
        if self.keeps or not len(self.later):  # `ratio` is of first calls
            return True
        return self.cold_saved.low(self.alpha) > 0 or self.cold.low(self.alpha) > floor

    def _by_what(self) -> str:
        """Note on what its figure is of, unless it is of all calls."""
        names = ", ".join(self.keeps[:3])
        return f"by first calls: {names} keeps something of each" if self.keeps else ""

    def regard_anew(self) -> None:
        """Forget what was unaccounted for: from here on forks do more work."""
        self.hidden, self.spent, self.unseen, self.gain = (MedianSequence(self.alpha) for _ in range(4))

    def more_work(self, floor: float) -> int:
        """Factor of more work that a fork should do, where all that is missing is that the clock outside agrees."""
        if self.failure is not None or self.ratio.low(self.alpha) <= floor or len(self.gain) < 9 or self.agreed:
            return 1
        needed = []
        for clock in (self.hidden, self.spent):
            room = AGREED * self.gain.median - clock.median
            needed.append(math.ceil(RESOLVED * clock.spread / room) if room > 0 else MOST_WORK)
        return min(*needed, MOST_WORK)

    @property
    def may_be_judged(self) -> bool:
        """Whether its ratios say enough: of what keeps something it must be known whether that is all it gains."""
        return not self.keeps or self.ratio.low(self.alpha) > -math.inf

    @property
    def agreed(self) -> bool:
        """Whether the clock outside, or the kernel's account of processor time, bears out what it is said to gain.

        The one is disturbed by whatever else runs, the other by what happened before the inputs came.
        """
        believed = AGREED * self.gain.median
        return self.hidden.high(self.alpha) < believed or self.spent.high(self.alpha) < believed

    def speedup(self) -> Interval | None:
        """The figure that is shown."""
        return interval(self.ratio)


def _cpu(sample: Sample) -> float:
    return float(sample.facts.get("cpu_seconds") or 0.0)


def interval(sequence: MedianSequence) -> Interval | None:
    """A sequence of logarithms as a ratio."""
    return Interval.of_logarithms(sequence.median, sequence.low(REPORT), sequence.high(REPORT))


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean; of logarithms, the logarithm of the geometric one."""
    return sum(values) / len(values)
