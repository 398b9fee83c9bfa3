"""Evidence on a command: runs of it beside the original's. Plain figures in, a verdict out; nothing here measures."""

from __future__ import annotations

import math

from bakeoff.judge.timing.command_run import Ran, difference
from bakeoff.judge.timing.evidence import DECIDE, REPORT
from bakeoff.judge.timing.speed import FASTER, MIXED, NOT_FASTER, Verdict
from bakeoff.judge.timing.statistics import MedianSequence

OUTPUT_DIFFERS = "output-differs"
"""The verdict on a command that prints something else than the original's."""
SLACK = 0.05
"""How much more processor time, as a logarithm, what is faster by the clock may take."""
WAITING = 0.1
"""Share of the time below which processor time says little."""


class CommandPairs:
    """Evidence on one contender: runs of the original beside runs of its own."""

    def __init__(self, alpha: float = DECIDE, expected: Ran | None = None, leaves: bool = False) -> None:
        """Prepare.

        Args:
            alpha: of the decision.
            expected: a run whose output each must have; None where that does not matter.
            leaves: whether the original leaves processes running.
        """
        self.alpha = alpha
        self.expected = expected
        self.leaves = leaves
        self.ratio = MedianSequence(alpha, REPORT)
        self.cpu = MedianSequence(alpha)
        self.effort = MedianSequence(alpha)
        self.memory = MedianSequence(alpha)
        self.failure: Verdict | None = None

    def add(self, original: Ran, other: Ran) -> float | None:
        """Take a pair; the logarithm of its ratio, or None where the contender failed."""
        self.failure = self.failure or failed(other, self.expected, self.leaves)
        if self.failure is not None:
            return None
        ratio = math.log(original.wall / other.wall)
        self.ratio.add(ratio)
        if original.cpu > 0 and other.cpu > 0:
            self.cpu.add(math.log(original.cpu / other.cpu))
        # Of a command that mostly waits the processor time is small and says little.
        least = WAITING * original.wall
        self.effort.add(math.log((original.cpu + least) / (other.cpu + least)))
        self.memory.add(other.maxrss / max(1, original.maxrss))
        return ratio

    def decide(self, floor: float) -> Verdict | None:
        """The verdict and why, as soon as there is one; `floor` is the logarithm of the least that counts."""
        if self.failure is not None:
            return self.failure
        alpha = self.alpha
        if self.ratio.high(alpha) < floor:
            return NOT_FASTER, f"at most {math.exp(self.ratio.high(alpha)):.3g} times as fast"
        if self.ratio.low(alpha) <= floor:
            return None
        if self.effort.high(alpha) < -SLACK:
            took = math.exp(self.ratio.median), math.exp(-self.cpu.median)
            return MIXED, "{:.3g} times as fast by the clock, with {:.3g} times the processor time".format(*took)
        return (FASTER, "") if self.effort.low(alpha) > -SLACK else None

    def dropped(self, floor: float) -> Verdict | None:
        """Verdict that ends its part in a selection: a failure. What is `mixed` may still be the fastest."""
        return self.failure

    def missing(self, floor: float) -> str:
        """Reason why nothing is decided when the time is over."""
        if self.ratio.low(self.alpha) > floor:
            return "what it gains did not show yet in processor time"
        return "the time is over"


def failed(run: Ran, expected: Ran | None, leaves: bool = False) -> Verdict | None:
    """Verdict on a run of a contender that failed; None on any other."""
    if run.status is None:
        return "timeout", "it took too long"
    if run.status != 0:
        return "crash", f"it ended with status {run.status}"
    if run.left and not leaves:
        return "process-leak", f"it left {run.left} process{'' if run.left == 1 else 'es'} running"
    if expected is not None and run.output != expected.output:
        return OUTPUT_DIFFERS, difference(expected, run)
    return None
