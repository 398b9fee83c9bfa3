"""The two points that are nearest to each other."""

import math
import random

R = random.Random(3)
POINTS = [(R.random(), R.random()) for _ in range(220)]
CALLS = [lambda: ([],), lambda: ([(0, 0), (3, 4), (1, 1)],), lambda: (POINTS,)]


def work(points):
    best = None
    best_distance = float("inf")
    for i in range(len(points)):
        for j in range(len(points)):
            if i != j:
                distance = math.sqrt((points[i][0] - points[j][0]) ** 2 + (points[i][1] - points[j][1]) ** 2)
                if distance < best_distance:
                    best_distance = distance
                    best = (points[i], points[j])
    return best, best_distance
