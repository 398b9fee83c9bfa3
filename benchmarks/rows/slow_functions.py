"""Ordinary slow functions, written by people who did not know the rules: how many the rules alone make faster."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import BAKEOFF, REPOSITORY, Bench, Measure, spend

FOLDER = REPOSITORY / "benchmarks" / "slow_functions"
SETS = {"slow-functions": FOLDER, "slow-functions-second": FOLDER / "second"}
WANTED = 12
TIMES = 7


def measure(bench: Bench) -> Iterator[Measure]:
    for name, folder in SETS.items():
        yield from _measured(bench, name, folder)


def _measured(bench: Bench, title: str, folder: Path) -> Iterator[Measure]:
    targets = (folder / "targets.txt").read_text().split()
    won: list[str] = []
    false: list[str] = []
    for target in targets[:6] if bench.quick else targets:
        path, _, name = target.partition(":")
        project = _project(bench.folder, folder / Path(path).parent)
        found = _optimised(project, f"{Path(path).name}:{name}")
        said = "no winner"
        if found["winner"] is not None:
            winner = next(one for one in found["candidates"] if one["file"] == found["winner"])
            ratio = _ratio(project)
            won.append(target)
            if ratio is None or ratio < 1:
                false.append(target)
            said = f"{found['winner']} {winner['speedup']['estimate']:.2f}x; its tests {ratio and f'{ratio:.2f}x'}"
        print(f"  {target}: {said}", flush=True)
        shutil.rmtree(project)
    missing = max(0, WANTED - len(won))
    yield Measure(
        f"{title}-missing",
        f"of {WANTED} verified wins by the rules alone over {len(targets)} functions",
        missing,
        "wins",
        0,
        1 + missing,
        "none, counted as 1",
        tolerance=0.01,
        notes=(f"won: {len(won)}",),
    )
    yield Measure(
        f"{title}-false",
        "winners whose tests fail, or run no faster than with the original",
        len(false),
        "wins",
        0,
        1 + len(false),
        "none, counted as 1",
        tolerance=0.01,
        notes=tuple(false),
    )


TIMED = f"""
import copy, sys, time
import pytest

class Timed:
    seconds = 0.0

    def pytest_pyfunc_call(self, pyfuncitem):
        given = {{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}}
        taken = []
        for _ in range({TIMES}):
            fresh = copy.deepcopy(given)
            since = time.perf_counter()
            pyfuncitem.obj(**fresh)
            taken.append(time.perf_counter() - since)
        self.seconds += min(taken)
        return True

timed = Timed()
code = pytest.main(["-q", "-p", "no:cacheprovider", "-k", "test_large"], plugins=[timed])
print(timed.seconds, file=sys.stderr)
sys.exit(code)
"""
"""What times the tests with much data, and fails where they do."""


def _project(folder: Path, source: Path) -> Path:
    project = folder / source.name
    shutil.copytree(source, project)
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for args in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "base"]):
        subprocess.run(["git", *args], cwd=project, check=True)
    return project


def _optimised(project: Path, target: str) -> dict[str, Any]:
    argv = [BAKEOFF, "optimize", target, "--json", "--apply", "--quiet", "--seconds", "40"]
    try:
        return dict(json.loads(spend(argv, project).output))
    except RuntimeError as failure:
        if "status 3" not in str(failure):
            raise
        return {"winner": None}


def _ratio(project: Path) -> float | None:
    """How much faster the tests' own calls run with the winner than before; None where a test fails."""
    passed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=project, capture_output=True
    )
    if passed.returncode:
        return None

    def seconds() -> float:
        return float(
            subprocess.run(
                [sys.executable, "-B", "-c", TIMED], cwd=project, capture_output=True, text=True, check=True
            ).stderr
        )

    after = min(seconds() for _ in range(3))
    subprocess.run(["git", "stash", "-q"], cwd=project, check=True)
    before = min(seconds() for _ in range(3))
    return before / after
