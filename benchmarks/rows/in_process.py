"""Durable items in the process itself, through the Python API. Run as a program it measures in a fresh process."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import Bench, Measure, spend
from benchmarks.peers import PeerMissingError, peer

BOUND = 64


def measure(bench: Bench) -> Iterator[Measure]:
    items, times = (2000, 2) if bench.quick else (10_000, 5)
    argv = [sys.executable, "-m", "benchmarks.rows.in_process", str(items), str(times), str(bench.folder)]
    found = json.loads(spend(argv, Path(__file__).parents[2]).output)
    each, bare = min(found["bakeoff"]) / items, min(found["bare"]) / items
    yield Measure(
        "in-process",
        f"{items} durable items in process, {BOUND} at once: overhead each",
        each * 1e6,
        "us",
        40,
        each / bare,
        "asyncio with a semaphore, nothing kept",
        tolerance=0.25,
        notes=(
            f"minima of {times} in turns: bakeoff {each * 1e6:.1f} us (median "
            f"{median(found['bakeoff']) / items * 1e6:.1f}, CPU {min(found['cpu']) / items * 1e6:.1f}), "
            f"bare asyncio {bare * 1e6:.1f} us",
            _peer(bench, "langgraph", "langgraph_items.py", 1000, each, "SQLite saver"),
            _peer(bench, "dbos", "dbos_items.py", 200, each, "SQLite"),
        ),
    )
    yield Measure(
        "in-process-memory",
        f"growth of RSS over {items} items, at its peak",
        found["rss"] / 1e6,
        "MB",
        10,
        found["rss"] / found["records"],
        "the records' text",
        tolerance=0.25,
        notes=("from after a warm-up of 100 items to the high-water mark",),
    )


def _peer(bench: Bench, name: str, script: str, items: int, ours: float, how: str) -> str:
    items = items // 4 if bench.quick else items
    try:
        found = peer(name)
    except PeerMissingError as missing:
        return f"{name} cannot be had: {missing}"
    folder = bench.folder / name
    folder.mkdir()
    each = float(found.script(script, str(items), str(BOUND), cwd=folder).output.split()[-1])
    return f"{found.title} ({how}), {items} items: {each * 1e6:.0f} us each, {each / ours:.0f}x"


async def _work(item: int) -> int:
    return item


async def _bare(items: int) -> None:
    places = asyncio.Semaphore(BOUND)

    async def one(item: int) -> int:
        async with places:
            return await _work(item)

    assert await asyncio.gather(*map(one, range(items))) == list(range(items))


async def _bakeoff(items: int, project: Path, run: str) -> None:
    import bakeoff

    found = await bakeoff.fan_out(_work, range(items), run=run, project=project, max_concurrency=BOUND)
    assert found == list(range(items))


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


def _program(items: int, times: int, project: Path) -> None:
    found: dict[str, Any] = {"bakeoff": [], "bare": [], "cpu": []}
    asyncio.run(_bakeoff(100, project, "warm"))
    gc.collect()
    resident = _memory("VmRSS")
    for turn in range(times):
        since, used = time.perf_counter(), time.process_time()
        asyncio.run(_bakeoff(items, project, f"r{turn}"))
        found["bakeoff"].append(time.perf_counter() - since)
        found["cpu"].append(time.process_time() - used)
        if turn == 0:
            found["rss"] = max(0, _memory("VmHWM") - resident)
            found["records"] = os.stat(project / ".bakeoff/runs/r0/journal.db").st_size
        since = time.perf_counter()
        asyncio.run(_bare(items))
        found["bare"].append(time.perf_counter() - since)
    print(json.dumps(found))


if __name__ == "__main__":
    _program(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
