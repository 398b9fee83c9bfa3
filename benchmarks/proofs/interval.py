"""Confidence interval of a share: Wilson's score interval."""

from __future__ import annotations

import math

SURE = 1.96
"""Standard errors of a 95 % interval."""


def interval(count: int, total: int) -> tuple[float, float]:
    """The 95 % interval of the share that `count` of `total` stand for."""
    if not total:
        return 0.0, 1.0
    share, wide = count / total, SURE**2 / total
    middle = (share + wide / 2) / (1 + wide)
    reach = SURE * math.sqrt(share * (1 - share) / total + wide / (4 * total)) / (1 + wide)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def share(count: int, total: int) -> str:
    """`3 of 4: 75 % [30, 95]`; without a total the count alone."""
    if not total:
        return "0 of 0"
    low, high = interval(count, total)
    return f"{count} of {total}: {100 * count / total:.1f} % [{100 * low:.0f}, {100 * high:.0f}]"
