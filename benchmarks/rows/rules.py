"""Each rule on its own example: how long the rewritten function takes, as a part of the original."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.optimize.rules.examples import ARGUMENTS, SIZE, example, function

from benchmarks.measure import Bench, Measure, in_turns

SQUARE = {"hoist", "index-join", "remember-below"}
"""Rules whose own examples take time with the square of their size."""


def measure(bench: Bench) -> Iterator[Measure]:
    """The geometric mean, with every rule in the notes, and how many are slower than what they replace."""
    ratios = {name: _ratio(name, 5 if bench.quick else 15) for name in sorted(ARGUMENTS)}
    middle = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    notes = [f"{name}: {1 / ratio:.2f}x" for name, ratio in sorted(ratios.items(), key=lambda pair: pair[1])]
    yield Measure(
        "rules",
        f"time after each of {len(ratios)} rules on its own example, geometric mean",
        middle,
        "of the original",
        0.8,
        middle,
        "the original function in the same run",
        notes=("minima of functions taken in turns; speed-up by rule", "; ".join(notes)),
    )
    slower = sum(ratio > 1 for ratio in ratios.values())
    yield Measure(
        "rules-slower",
        "rules whose own example gets slower",
        slower,
        "rules",
        2,
        (slower + 1) / len(ratios),
        "all rules",
        tolerance=1,
    )


def _ratio(name: str, times: int) -> float:
    case = example(name)
    assert case.after is not None
    arguments = ARGUMENTS[name](SIZE if name in SQUARE else 5 * SIZE)
    before, after = function(case, case.before), function(case, case.after)
    calls = max(1, int(0.005 / max(1e-7, _time(before, arguments, 1))))
    calls = max(calls, int(0.002 / max(1e-7, _time(after, arguments, 1))) if calls > 50 else calls)
    taken = in_turns(
        {"before": lambda: _time(before, arguments, calls), "after": lambda: _time(after, arguments, calls)}, times
    )
    return taken.least("after") / taken.least("before")


def _time(work: Callable[..., Any], arguments: Any, calls: int) -> float:
    """Seconds of CPU for some calls, each with arguments of its own, which are copied before the clock starts."""
    every = [copy.deepcopy(arguments) for _ in range(calls)]
    start = time.process_time()
    for each in every:
        work(*each)
    return time.process_time() - start
