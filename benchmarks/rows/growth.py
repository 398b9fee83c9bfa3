"""Whether an item costs more when many went before it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import BAKEOFF, Bench, Measure, ms, spend
from benchmarks.peers import PeerMissingError, peer
from benchmarks.workflows import fan_out

WINDOW = 100


def measure(bench: Bench) -> Iterator[Measure]:
    items, times, small = (2000, 1, 4) if bench.quick else (10_000, 2, 8)
    many = bench.project("many", fan_out(items))
    few = bench.project("few", fan_out(2 * WINDOW + 60))
    early: list[float] = []
    late: list[float] = []
    for turn in range(times):
        for again in range(small):
            starts = _starts(few, f"r{turn}-{again}")
            early += [_window(starts, 50), _window(starts, 50 + WINDOW)]
        starts = _starts(many, f"r{turn}")
        late += [_window(starts, items - WINDOW * back - 1) for back in range(1, 2 * small + 1)]
    ratio = median(late) / median(early)
    yield Measure(
        "growth",
        f"marginal cost of an item at {items} against at 100",
        ratio,
        "x",
        1.1,
        ratio,
        "the same at 100 items",
        notes=(
            f"{ms(median(early))} at 100, {ms(median(late))} at {items}: between starts in the journal, windows of "
            f"{WINDOW} items, medians of {len(early)} early and {len(late)} late ones, taken in turns",
            _spec_kit(bench),
        ),
    )


def _starts(project: Path, run_id: str) -> list[float]:
    """When each item started, in order, as the journal says."""
    spend([BAKEOFF, "run", "flow.yml", "--quiet", "--run-id", run_id], project)
    with sqlite3.connect(project / ".bakeoff" / "runs" / run_id / "journal.db") as db:
        rows = db.execute("SELECT body FROM entry WHERE kind = 'start' AND path LIKE 'fan:%'")
        return sorted(json.loads(body)[1] for (body,) in rows)


def _window(starts: list[float], first: int) -> float:
    return (starts[first + WINDOW] - starts[first]) / WINDOW


def _spec_kit(bench: Bench) -> str:
    if bench.quick:
        return "spec-kit is left out of quick runs"
    walls = {}
    try:
        for items in (20, 100, 300, 400):
            project = bench.project(f"spec-kit-{items}", fan_out(items))
            walls[items] = peer("spec-kit").spend("specify", "workflow", "run", "flow.yml", cwd=project).wall
    except PeerMissingError as missing:
        return f"spec-kit cannot be had: {missing}"
    early, late = (walls[100] - walls[20]) / 80, (walls[400] - walls[300]) / 100
    return f"spec-kit 1.2.3: {ms(early)} at 100, {ms(late)} at 400 already, {late / early:.1f}x"
