"""How long a place stands idle between a finish and the next start. Run as a program: in a fresh process."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.measure import Bench, Measure, ms, spend

BOUND = 8


def measure(bench: Bench) -> Iterator[Measure]:
    items, times = (500, 2) if bench.quick else (3000, 5)
    argv = [sys.executable, "-m", "benchmarks.rows.idle_place", str(items), str(times), str(bench.folder)]
    found = json.loads(spend(argv, Path(__file__).parents[2]).output)
    commit = median(found["commits"])
    idle = [quantiles(turn, n=100)[98] for turn in found["idle"]]
    middle = median(gap for turn in found["idle"] for gap in turn)
    yield Measure(
        "idle-place",
        "a place idle between a finish and the next start, p99",
        min(idle) * 1e3,
        "ms",
        1 + commit * 1e3,
        min(idle) / (0.001 + commit),
        "1 ms and one commit",
        tolerance=2.0,
        notes=(
            f"{items} durable items of 0.5 to 5 ms, {BOUND} at once; p99 of {times} repetitions: "
            f"least {ms(min(idle))}, median {ms(median(idle))}; median idle {ms(middle)}; "
            f"one commit {ms(commit)} (median of {len(found['commits'])})",
        ),
    )


async def _idle(items: int, project: Path, run: str) -> list[float]:
    import bakeoff

    dice = random.Random(run)
    seconds = [dice.uniform(0.0005, 0.005) for _ in range(items)]
    starts: list[float] = []
    ends: list[float] = []

    async def work(item: int) -> int:
        starts.append(time.perf_counter())
        await asyncio.sleep(seconds[item])
        ends.append(time.perf_counter())
        return item

    await bakeoff.fan_out(work, range(items), run=run, project=project, max_concurrency=BOUND)
    # The first finish frees the place of the first item beyond the bound, and so on.
    return [start - end for start, end in zip(starts[BOUND:], ends, strict=False)]


async def _commits(project: Path) -> list[float]:
    from bakeoff.engine.journal import SqliteJournal

    journal = SqliteJournal(project / "commits.db")
    found = []
    for number in range(200):
        since = time.perf_counter()
        await journal.append("note", "", str(number)).committed()
        found.append(time.perf_counter() - since)
    journal.close()
    return found


def _program(items: int, times: int, project: Path) -> None:
    found: dict[str, Any] = {"idle": [], "commits": asyncio.run(_commits(project))}
    asyncio.run(_idle(100, project, "warm"))
    for turn in range(times):
        found["idle"].append(asyncio.run(_idle(items, project, f"r{turn}")))
    print(json.dumps(found))


if __name__ == "__main__":
    _program(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
