"""Result of measuring: plain data that goes through JSON and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

FASTER, NOT_FASTER, MIXED, UNDECIDED = "faster", "not-faster", "mixed", "undecided"
"""The verdicts on speed. A contender can also fail: see `Speed.verdict`."""
SOUND = (FASTER, NOT_FASTER, MIXED, UNDECIDED)
"""The verdicts on those that did not fail."""

Verdict = tuple[str, str]
"""A verdict on speed, as in `Speed.verdict`, and why, in words."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A ratio with its 95 % interval, which is valid whenever it is looked at. Above 1 is faster.

    Attributes:
        estimate: the median.
        low: lower bound; 0 while nothing is known.
        high: upper bound; None while nothing is known.
    """

    estimate: float
    low: float
    high: float | None

    def __str__(self) -> str:
        if self.low == 0 and self.high is None:
            return f"{self.estimate:.2f}x so far"
        low = "-" if self.low == 0 else f"{self.low:.2f}"
        return f"{self.estimate:.2f}x [{low}, {'-' if self.high is None else f'{self.high:.2f}'}]"

    @classmethod
    def of_logarithms(cls, median: float, low: float, high: float) -> Interval | None:
        """From logarithms; None where nothing was measured."""
        if math.isnan(median):
            return None
        top = None if math.isinf(high) or high > 700 else math.exp(high)
        return cls(math.exp(min(median, 700)), 0.0 if math.isinf(low) else math.exp(min(low, 700)), top)


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of one contender, compared with the original.

    Attributes:
        verdict: `faster`, `not-faster`, `mixed`, `undecided`; or what ended its measuring: `import-failure`,
            `differs-while-timed`, `incomparable`, `timeout`, `crash`, `process-leak`, `tampering`,
            `cross-call-state`.
        detail: why, in words.
        speedup: over all inputs, calls repeated: from the re-measurement, where there was one.
        fresh: the same over inputs that no test shows.
        cold: of the first call on each input.
        total: of the time for all inputs together.
        cpu: of the processor time of all its processes, imports included: above 1 is less.
        memory: its peak in relation to the original's: above 1 is more; None unless it was asked for.
        remeasured: whether `speedup` comes from a measurement of its own, after the selection.
        pairs: how many pairs of runs the figure rests on.
        receipt: the evidence: counts, parents, noise, what was discarded.
    """

    verdict: str
    detail: str = ""
    speedup: Interval | None = None
    fresh: Interval | None = None
    cold: Interval | None = None
    total: Interval | None = None
    cpu: float | None = None
    memory: float | None = None
    remeasured: bool = False
    pairs: int = 0
    receipt: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Speed:
        """Back from that."""
        given = dict(data)
        for name in ("speedup", "fresh", "cold", "total"):
            given[name] = None if given.get(name) is None else Interval(**given[name])
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Noise of the machine: the original measured against itself.

    Attributes:
        noise: median deviation of the ratio of one pair, as a part of it.
        itself: the ratio of the original to itself; its interval should hold 1.
        idle: whether nothing else was seen to run.
        load: processors that others kept busy.
        inputs: how many are used.
        fresh: how many of them no test shows.
        dropped: why inputs are not used, and how many.
        work: seconds that one call on each input takes together.
    """

    noise: float
    itself: Interval | None
    idle: bool
    load: float
    inputs: int
    fresh: int
    dropped: Mapping[str, int]
    work: float

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)
