"""An interval for a median that may be looked at after every value.

The number of values above the true median is a sum of fair coin tosses. A mixture of all unfair coins, weighted by a
beta distribution, bets against that; what it would have won bounds, by Ville's inequality, how often a fair coin is
ever called unfair. All medians that are not called wrong so far make the interval. Nothing is assumed of the noise but
that values are independent with one median.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable
from functools import cache

PRIOR = 2.0
"""Both parameters of the beta distribution."""


def _log_beta(one: float, other: float) -> float:
    return math.lgamma(one) + math.lgamma(other) - math.lgamma(one + other)


@cache
def rank(count: int, alpha: float) -> int | None:
    """The least number of values out of `count` on one side that a fair coin does not give; None where there is none.

    Args:
        count: values so far.
        alpha: how often it may be wrong, over all counts together.
    """
    bound = math.log(1 / alpha) - count * math.log(2) + _log_beta(PRIOR, PRIOR)
    for k in range(count // 2 + 1, count + 1):
        if _log_beta(k + PRIOR, count - k + PRIOR) >= bound:
            return k
    return None


class MedianSequence:
    """Values as they come, and the interval that their median lies in.

    Attributes:
        values: all of them, in order of size.
    """

    __slots__ = ("_bounds", "values")

    def __init__(self, *alphas: float) -> None:
        """Prepare for intervals that are wrong, ever, in at most these shares of cases."""
        self.values: list[float] = []
        self._bounds = dict.fromkeys(alphas, (-math.inf, math.inf))

    def add(self, value: float) -> None:
        """Take another value."""
        insort(self.values, value)
        count = len(self.values)
        for alpha, (low, high) in self._bounds.items():
            k = rank(count, alpha)
            if k is not None:
                self._bounds[alpha] = max(low, self.values[count - k]), min(high, self.values[k - 1])

    def extend(self, values: Iterable[float]) -> None:
        """Take them one after the other."""
        for value in values:
            self.add(value)

    def __len__(self) -> int:
        return len(self.values)

    def low(self, alpha: float) -> float:
        """The median is no lower; minus infinity while nothing is known."""
        return self._bounds[alpha][0]

    def high(self, alpha: float) -> float:
        """The median is no higher."""
        return self._bounds[alpha][1]

    @property
    def median(self) -> float:
        """Of the values; NaN where there are none."""
        return middle(self.values)

    @property
    def spread(self) -> float:
        """Median distance to the median; NaN where there are no values."""
        centre = self.median
        return middle(sorted(abs(value - centre) for value in self.values))


def middle(values: list[float]) -> float:
    """The median of values in order of size; NaN where there are none."""
    count = len(values)
    if not count:
        return math.nan
    return (values[(count - 1) // 2] + values[count // 2]) / 2
