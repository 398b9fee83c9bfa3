"""Correlation of measured channels."""

import math
from typing import Dict, List, Sequence, Tuple


def mean(x: Sequence[float]) -> float:
    """Arithmetic mean."""
    return sum(x) / len(x)


def std(x: Sequence[float]) -> float:
    """Standard deviation of the population."""
    return math.sqrt(sum((xi - mean(x)) ** 2 for xi in x) / len(x))


def cov(x: Sequence[float], y: Sequence[float]) -> float:
    """Covariance of the population."""
    s = 0.0
    for i in range(len(x)):
        s += (x[i] - mean(x)) * (y[i] - mean(y))
    return s / len(x)


def pearson(x: Sequence[float], y: Sequence[float]) -> float:
    """Pearson's r; 0 where a channel does not vary."""
    if std(x) == 0 or std(y) == 0:
        return 0.0
    return cov(x, y) / (std(x) * std(y))


def correlation_matrix(channels: List[List[float]]) -> List[List[float]]:
    """Return the matrix of r for all pairs of channels, rounded to 6 digits."""
    n = len(channels)
    R = [[0.0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            R[i][j] = round(pearson(channels[i], channels[j]), 6)
    return R


def strongest_pair(names: List[str], channels: List[List[float]]) -> Dict[str, Tuple[str, float]]:
    """For each channel, the other one that it goes with best."""
    R = correlation_matrix(channels)
    best = {}
    for i, name in enumerate(names):
        others = [(abs(R[i][j]), names[j], R[i][j]) for j in range(len(names)) if j != i]
        if others:
            _, other, r = max(others)
            best[name] = (other, r)
    return best
