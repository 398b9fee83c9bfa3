"""Eight candidates, four of them right and faster, from end to end: beside one by one, and beside a bound of 1."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import BAKEOFF, REPOSITORY, Bench, Measure, spend

HEAD = "def common(xs, ys):\n"
ORIGINAL = (
    HEAD + "    found = []\n    for x in xs:\n        if x in ys:\n            found.append(x)\n    return found\n"
)
BODIES = {
    "set.py": "    known = set(ys)\n    return [x for x in xs if x in known]\n",
    "loop.py": "    known = set(ys)\n    found = []\n    for x in xs:\n        if x in known:\n"
    "            found.append(x)\n    return found\n",
    "filter.py": "    return list(filter(frozenset(ys).__contains__, xs))\n",
    "dict.py": "    known = dict.fromkeys(ys)\n    return [x for x in xs if x in known]\n",
    "once.py": "    return list(dict.fromkeys(x for x in xs if x in set(ys)))\n",
    "sorted.py": "    known = set(ys)\n    return sorted(x for x in xs if x in known)\n",
    "short.py": "    known = set(ys)\n    return [x for x in xs if x in known][:-1]\n",
    "raises.py": "    return [x for x in xs if ys[x]]\n",
}
TESTS = """import random
import pytest
from mod import common

@pytest.fixture
def numbers():
    return random.Random(1).choices(range(1000), k=300)

def test_small():
    assert common([3, 1, 2, 1], [1, 2]) == [1, 2, 1]

def test_none(numbers):
    assert common(numbers, []) == []

def test_many(numbers):
    assert common(numbers, numbers[::-1]) == numbers
"""


def measure(bench: Bench) -> Iterator[Measure]:
    project = bench.folder / "project"
    project.mkdir()
    (project / "mod.py").write_text(ORIGINAL)
    (project / "test_mod.py").write_text(TESTS)
    candidates = bench.folder / "candidates"
    candidates.mkdir()
    for name, body in BODIES.items():
        (candidates / name).write_text(HEAD + body)
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for args in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "base"]):
        subprocess.run(["git", *args], cwd=project, check=True)
    taken: dict[str, list[float]] = {"all": [], "one": [], "by one": []}
    for _ in range(1 if bench.quick else 3):
        taken["all"].append(_seconds(project, candidates))
        taken["one"].append(_seconds(project, candidates, "--parallel-candidates", "1"))
        taken["by one"].append(_one_by_one(bench.folder, project, candidates))
    whole, bound, usual = (min(taken[name]) for name in ("all", "one", "by one"))
    yield Measure(
        "candidates-one-by-one", "eight candidates, four good, against pytest one by one", whole / usual, "x", 1 / 5,
        whole / usual, "a run of pytest for each, and one that repeats", notes=(f"{whole:.1f}, {usual:.1f} s",),
    )  # fmt: skip
    yield Measure(
        "candidates-bound-of-one", "the same against our own bound of 1", whole / bound, "x", 1 / 1.6,
        whole / bound, "--parallel-candidates 1", notes=(f"{whole:.1f}, {bound:.1f} s",),
    )  # fmt: skip


def _seconds(project: Path, candidates: Path, *options: str) -> float:
    given = [part for name in BODIES for part in ("--candidate", candidates / name)]
    argv = [BAKEOFF, "optimize", "mod.py:common", "--no-rules", "--json", "--quiet", *given, *options]
    spent = spend(argv, project)
    found = json.loads(spent.output)
    accepted = {Path(one["file"]).name for one in found["candidates"] if one["reason"] not in WRONG}
    assert accepted == set(list(BODIES)[:4]), found["candidates"]
    shutil.rmtree(project / ".bakeoff")
    return spent.wall


WRONG = {"behaviour/return", "behaviour/exception", "differs-on-derived-input", "test-failed"}


def _one_by_one(folder: Path, project: Path, candidates: Path) -> float:
    copy = folder / "copy"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".git", ".bakeoff"))
    script = REPOSITORY / "benchmarks" / "peers" / "one_by_one.py"
    argv = [sys.executable, script, copy, "mod.py", *(candidates / name for name in BODIES)]
    seconds = float(spend(argv, folder).output)
    shutil.rmtree(copy)
    return seconds
