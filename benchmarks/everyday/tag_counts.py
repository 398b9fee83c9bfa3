"""The most used tags, ties by name."""

import random

R = random.Random(10)
POSTS = [{"tags": [f"tag{R.randrange(90)}" for _ in range(6)], "draft": n % 5 == 0} for n in range(300)]
CALLS = [lambda: ([], 3), lambda: (POSTS[:4], 2), lambda: (POSTS, 10)]


def work(posts, most):
    tags = []
    for post in posts:
        if not post["draft"]:
            for tag in post["tags"]:
                tags.append(tag)
    counts = []
    for tag in set(tags):
        counts.append((tag, tags.count(tag)))
    counts.sort(key=lambda pair: (-pair[1], pair[0]))
    return counts[:most]
