"""Shortest ways from one node, without a heap."""

import random

R = random.Random(6)
GRAPH = {n: {R.randrange(150): R.randint(1, 30) for _ in range(5)} for n in range(150)}
CALLS = [lambda: ({0: {}}, 0), lambda: ({0: {1: 4, 2: 1}, 1: {}, 2: {1: 2}}, 0), lambda: (GRAPH, 0)]


def work(graph, start):
    distances = {node: float("inf") for node in graph}
    distances[start] = 0
    unvisited = list(graph.keys())
    while len(unvisited) > 0:
        current = None
        for node in unvisited:
            if current is None or distances[node] < distances[current]:
                current = node
        unvisited.remove(current)
        for neighbour in graph[current].keys():
            distance = distances[current] + graph[current][neighbour]
            if distance < distances[neighbour]:
                distances[neighbour] = distance
    return distances
