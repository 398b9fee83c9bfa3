"""Eight candidates, four of them right and faster, from end to end: beside codeflash's way, and beside a bound of 1."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import BAKEOFF, Bench, Measure, spend
from benchmarks.peers import Peer, PeerMissingError, peer

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
import time
import pytest
from mod import common

def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

@pytest.fixture
def numbers():
    work({seconds})
    return random.Random(1).choices(range(1000), k=1000)

def test_small():
    assert common([3, 1, 2, 1], [1, 2]) == [1, 2, 1]

def test_none(numbers):
    assert common(numbers, []) == []

def test_many(numbers):
    assert common(numbers, numbers[::-1]) == numbers
"""
QUICK, SLOW = 0.025, 0.5
"""Seconds of work around the calls of two tests: as in the example codeflash was measured by; as in many projects."""


def measure(bench: Bench) -> Iterator[Measure]:
    candidates = bench.folder / "candidates"
    candidates.mkdir()
    for name, body in BODIES.items():
        (candidates / name).write_text(HEAD + body)
    quick, slow = (_project(bench.folder / name, seconds) for name, seconds in (("quick", QUICK), ("slow", SLOW)))
    taken: dict[str, list[float]] = {"quick": [], "usual": [], "slow": [], "one": []}
    try:
        usual: Peer | None = peer("codeflash")
    except PeerMissingError as missing:
        print(f"codeflash cannot be had: {missing}")
        usual = None
    for _ in range(1 if bench.quick else 3):
        if usual is not None:
            taken["quick"].append(_seconds(quick, candidates))
            taken["usual"].append(_one_by_one(usual, bench.folder, quick, candidates))
        taken["slow"].append(_seconds(slow, candidates))
        taken["one"].append(_seconds(slow, candidates, "--parallel-candidates", "1"))
    if usual is not None:
        ours, theirs = min(taken["quick"]), min(taken["usual"])
        yield Measure(
            "candidates-one-by-one", "eight candidates, four good, tests of 50 ms, against codeflash's way",
            ours / theirs, "x", 1 / 5, ours / theirs, f"runs of pytest with the plugin of {usual.title}, one by one",
            notes=(f"{ours:.1f}, {theirs:.1f} s",),
        )  # fmt: skip
    whole, bound = min(taken["slow"]), min(taken["one"])
    yield Measure(
        "candidates-bound-of-one", "the same with tests of 1 s, against our own bound of 1", whole / bound, "x",
        1 / 1.6, whole / bound, "--parallel-candidates 1", notes=(f"{whole:.1f}, {bound:.1f} s",),
    )  # fmt: skip


def _project(folder: Path, seconds: float) -> Path:
    folder.mkdir()
    (folder / "mod.py").write_text(ORIGINAL)
    (folder / "test_mod.py").write_text(TESTS.replace("{seconds}", str(seconds)))
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for args in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "base"]):
        subprocess.run(["git", *args], cwd=folder, check=True)
    return folder


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


def _one_by_one(usual: Peer, folder: Path, project: Path, candidates: Path) -> float:
    copy = folder / "copy"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".git", ".bakeoff"))
    given = [str(candidates / name) for name in BODIES]
    seconds = float(usual.script("one_by_one.py", str(copy), "mod.py", *given, cwd=folder).output)
    shutil.rmtree(copy)
    return seconds
