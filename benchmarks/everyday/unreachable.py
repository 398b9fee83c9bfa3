"""Modules that no entry point imports, directly or not."""

import random

R = random.Random(12)
IMPORTS = {f"m{n}": [f"m{R.randrange(220)}" for _ in range(2)] for n in range(220)}
CALLS = [lambda: ({}, []), lambda: ({"a": ["b"], "b": [], "c": ["a"]}, ["a"]), lambda: (IMPORTS, ["m0", "m5"])]


def work(imports, entries):
    reached = []
    queue = []
    for entry in entries:
        queue.append(entry)
    while len(queue) > 0:
        module = queue.pop(0)
        if module in reached:
            continue
        reached.append(module)
        for other in imports.get(module, []):
            if other not in reached and other not in queue:
                queue.append(other)
    return [module for module in sorted(imports) if module not in reached]
