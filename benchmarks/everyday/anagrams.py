"""Words grouped by their letters."""

import random

R = random.Random(1)
WORDS = ["".join(R.choice("abcde") for _ in range(R.randint(3, 6))) for _ in range(700)]
CALLS = [lambda: ([],), lambda: (["tea", "eat", "tan"],), lambda: (WORDS,)]


def work(words):
    groups = []
    for word in words:
        placed = False
        for group in groups:
            if sorted(group[0]) == sorted(word):
                group.append(word)
                placed = True
                break
        if not placed:
            groups.append([word])
    return groups
