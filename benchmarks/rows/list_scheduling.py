"""Uneven items on few places, against what item-order list scheduling gives at best."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence

from benchmarks.measure import BAKEOFF, Bench, Measure, spend
from benchmarks.peers import PeerMissingError, peer
from benchmarks.workflows import fan_out

PLACES = 4
ITEMS = 32
SLEEP = "case $(( {{ item }} % 4 )) in 1) sleep 1;; *) sleep 0.05;; esac"


def measure(bench: Bench) -> Iterator[Measure]:
    times = 1 if bench.quick else 3
    best = list_schedule([1.0 if number % 4 == 1 else 0.05 for number in range(1, ITEMS + 1)], PLACES)
    project = bench.project("uneven", fan_out(ITEMS, PLACES, SLEEP))
    walls = []
    for turn in range(times):
        spend([BAKEOFF, "run", "flow.yml", "--quiet", "--run-id", f"r{turn}"], project)
        steps = json.loads(spend([BAKEOFF, "show", f"r{turn}", "--json"], project).output)["steps"]
        walls.append(steps["fan"]["ended_at"] - steps["fan"]["started_at"])
    yield Measure(
        "list-scheduling",
        f"{ITEMS} items on {PLACES} places, every fourth 1 s, the rest 0.05 s",
        min(walls) / best,
        "x best",
        1.03,
        min(walls) / best,
        "item-order list scheduling without any cost",
        tolerance=0.03,
        notes=(f"minimum of {times}: {min(walls):.3f} s against {best:.3f} s", _spec_kit(bench, min(walls))),
    )


def list_schedule(seconds: Sequence[float], places: int) -> float:
    """When the last item ends if each, in order, takes the first place that is free."""
    free = [0.0] * places
    for item in seconds:
        heapq.heappush(free, heapq.heappop(free) + item)
    return max(free)


def _spec_kit(bench: Bench, ours: float) -> str:
    project = bench.project("uneven-spec-kit", fan_out(ITEMS, PLACES, SLEEP))
    try:
        wall = peer("spec-kit").spend("specify", "workflow", "run", "flow.yml", cwd=project).wall
    except PeerMissingError as missing:
        return f"spec-kit cannot be had: {missing}"
    return f"spec-kit 1.2.3: {wall:.2f} s with its start-up, {wall / ours:.1f}x"
