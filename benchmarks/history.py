"""The ratios of earlier runs, one line each, and the look for regressions in them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measure import REPOSITORY, Measure

FILE = Path(__file__).with_name("history.jsonl")


def read(file: Path = FILE) -> list[dict[str, Any]]:
    """Every line, oldest first."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def line(measures: Iterable[Measure], quick: bool) -> dict[str, Any]:
    """What is kept of a run: ratios, and nothing that names the machine."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip() or None,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "quick": quick,
        "ratios": {measure.key: round(measure.ratio, 4) for measure in measures},
    }


def append(entry: dict[str, Any], file: Path = FILE) -> None:
    """Add a line."""
    with file.open("a") as history:
        history.write(json.dumps(entry) + "\n")


def regressions(measures: Iterable[Measure], earlier: Iterable[dict[str, Any]], quick: bool) -> list[str]:
    """What got worse than the best that the same kind of run gave on a machine of as many cores."""
    alike = [entry["ratios"] for entry in earlier if entry["cores"] == os.cpu_count() and entry["quick"] == quick]
    found = []
    for measure in measures:
        best = min((ratios[measure.key] for ratios in alike if measure.key in ratios), default=None)
        if best is not None and measure.ratio > best * (1 + measure.tolerance):
            found.append(
                f"{measure.key}: {measure.ratio:.3g} x {measure.yardstick}; the best was {best:.3g}, "
                f"{measure.tolerance:.0%} more is tolerated"
            )
    return found
