"""Power of a measurement that decided nothing: how much more of it would, by how far its interval has narrowed."""

from __future__ import annotations

import math

from bakeoff.judge.timing.speed import Calibration
from bakeoff.judge.timing.statistics import MedianSequence, rank

MOST = 100
"""Times as long: what would take longer is too near to the least speed-up to be told."""
NEEDED = "seconds_needed"
"""Where a receipt has the seconds."""


def seconds_needed(ratio: MedianSequence, alpha: float, floor: float, seconds: float) -> float | None:
    """Seconds of measuring that would probably decide; None where no time that is worth it would.

    An interval narrows with the square root of the number of pairs.

    Args:
        ratio: logarithms of the pairs so far.
        alpha: error rate of the decision.
        floor: logarithm of the least speed-up that counts.
        seconds: that the pairs took.
    """
    count = len(ratio)
    if not count:
        return None
    least = next(each for each in range(1, 1000) if rank(each, alpha) is not None)
    gap = abs(ratio.median - floor)
    if count < least:
        # The first interval, at `least` pairs, reaches over all of them: half as many more are allowed for.
        return 1.5 * seconds * least / count if gap > ratio.spread else 4 * seconds * least / count
    far = ratio.median - ratio.low(alpha) if ratio.median > floor else ratio.high(alpha) - ratio.median
    if gap <= 0 or not math.isfinite(far):
        return None
    times = max(1.5, 1.2 * (far / gap) ** 2)
    return seconds * times if times <= MOST else None


def in_words(needed: float | None, ratio: MedianSequence, floor: float, calibration: Calibration | None) -> str:
    """What would decide it: more time, or a quieter machine; and that nothing would, where that is so.

    Args:
        needed: of `seconds_needed`.
        ratio: logarithms of the pairs so far.
        floor: logarithm of the least speed-up that counts.
        calibration: of the machine.
    """
    quiet = ""
    if calibration is not None and not calibration.idle:
        quiet = f", or a quieter machine (others keep {calibration.load:.1f} processors busy)"
    if not len(ratio):
        return f"no pair of runs counted; more time would decide it{quiet}"
    if needed is None:
        return f"about {math.exp(ratio.median):.2f}x is too near to {math.exp(floor):.3g}x to be told from it"
    return f"some {_round(needed):g} s would decide it{quiet}"


def _round(seconds: float) -> float:
    """Two figures, rounded up."""
    unit = 10.0 ** (math.floor(math.log10(seconds)) - 1)
    return math.ceil(seconds / unit) * unit
