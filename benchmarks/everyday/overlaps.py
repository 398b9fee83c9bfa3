"""Bookings of one room that overlap."""

import random

R = random.Random(9)
STARTS = [R.randrange(3000) for _ in range(250)]
BOOKINGS = [{"room": f"r{s % 11}", "start": s, "end": s + 40} for s in STARTS]
CALLS = [lambda: ([],), lambda: (BOOKINGS[:12],), lambda: (BOOKINGS,)]


def work(bookings):
    conflicts = []
    for i, first in enumerate(bookings):
        for j, second in enumerate(bookings):
            if j <= i:
                continue
            if first["room"] != second["room"]:
                continue
            if first["start"] < second["end"] and second["start"] < first["end"]:
                conflicts.append((i, j))
    return conflicts
