"""Values written as messages that can be compared; pickle, in C, is the yardstick of what writing them at all costs."""

from __future__ import annotations

import pickle
import timeit
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from bakeoff.judge.codec import decode, encode
from benchmarks.measure import Bench, Measure, in_turns


@dataclass
class Point:
    x: int
    y: int


VALUES: dict[str, tuple[Any, float]] = {
    "int": (5, 3),
    "tuple": ((1, 2, 3), 6),
    "dataclass": (Point(1, 2), 12),
    "ints": (list(range(1000)), 133),
    "rows": ([{"id": n, "name": f"n{n}", "tags": ["a", "b"]} for n in range(100)], 1500),
    "megabyte": (b"x" * (1 << 20), 200),
}
"""Each with the most microseconds that it may take."""


def measure(bench: Bench) -> Iterator[Measure]:
    times = 5 if bench.quick else 15
    for name, (value, goal) in VALUES.items():
        data = encode(value)
        ways = {
            "encode": partial(encode, value),
            "decode": partial(decode, data),
            "pickle": partial(pickle.dumps, value),
        }
        taken = in_turns({way: partial(_seconds, call) for way, call in ways.items()}, times)
        least = {way: taken.least(way) for way in ways}
        rate = len(data) / least["encode"] / 1e6
        yield Measure(
            f"codec-{name}",
            f"encode {name}",
            least["encode"] * 1e6,
            "us",
            goal,
            least["encode"] / least["pickle"],
            "pickle.dumps",
            0.5,
            (f"{len(data)} bytes; {rate:.3g} MB/s; decode {least['decode'] * 1e6:.3g} us",),
        )


def _seconds(call: Any) -> float:
    timer = timeit.Timer(call)
    count = max(1, int(0.02 / max(timer.timeit(1), 1e-7)))
    return timer.timeit(count) / count
