"""Despiking of time series with a running median (Hampel filter)."""

import math
from typing import List, Tuple


def median(values: List[float]) -> float:
    """Median; nan for no values."""
    s = sorted(values)
    n = len(s)
    if n == 0:
        return math.nan
    if n % 2:
        return s[n // 2]
    return 0.5 * (s[n // 2 - 1] + s[n // 2])


def window(x: List[float], i: int, half: int) -> List[float]:
    """Values around index i without gaps (nan)."""
    return [v for v in x[max(0, i - half) : i + half + 1] if not math.isnan(v)]


def running_median(x: List[float], half: int) -> List[float]:
    """Median around each point."""
    return [median(window(x, i, half)) for i in range(len(x))]


def hampel(x: List[float], half: int = 5, k: float = 3.0) -> Tuple[List[float], List[int]]:
    """Replace outliers with the running median.

    Returns the cleaned series and the indices of the outliers. A point is one if it is more than k scaled MADs away
    from the median around it. Gaps stay gaps.
    """
    y = list(x)
    outliers: List[int] = []
    for i, value in enumerate(x):
        if math.isnan(value):
            continue
        w = window(x, i, half)
        center = median(w)
        sigma = 1.4826 * median([abs(v - center) for v in w])
        if sigma > 0 and abs(value - center) > k * sigma:
            y[i] = center
            outliers.append(i)
    return y, outliers
