"""Means of the last so many values."""

import random

R = random.Random(8)
VALUES = [R.randrange(1000) for _ in range(1500)]
CALLS = [lambda: ([], 3), lambda: ([1, 2, 3, 4, 5], 2), lambda: (VALUES, 50)]


def work(values, size):
    averages = []
    for i in range(len(values)):
        window = values[max(0, i - size + 1) : i + 1]
        averages.append(sum(window) / len(window))
    return averages
