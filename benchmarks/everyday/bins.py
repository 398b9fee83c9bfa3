"""Counts of values in bins given by their edges."""

import random

R = random.Random(2)
EDGES = [n * 10 for n in range(60)]
VALUES = [R.random() * 590 for _ in range(3000)]
CALLS = [lambda: ([], []), lambda: ([1.5, 12.0, 3], [0, 10, 20]), lambda: (VALUES, EDGES)]


def work(values, edges):
    counts = [0] * (len(edges) - 1)
    for value in values:
        for i in range(len(edges) - 1):
            if edges[i] <= value < edges[i + 1]:
                counts[i] += 1
    return counts
