"""Leaves of nested lists."""


def nested(depth):
    return [nested(depth - 1) if n % 2 else n for n in range(6)] if depth else [1, 2, 3]


TREE = nested(7)
CALLS = [lambda: ([],), lambda: ([1, [2, [3, []]]],), lambda: (TREE,)]


def work(items):
    result = []
    for item in items:
        if isinstance(item, list):
            result = result + work(item)
        else:
            result = result + [item]
    return result
