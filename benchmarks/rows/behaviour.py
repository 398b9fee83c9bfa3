"""Judging behaviour: how often a second three tiny tests are run, and whole verdicts reached, in sandboxes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import anyio

from bakeoff.optimize.behaviour.baseline import Baseline, job_of_tests
from bakeoff.optimize.behaviour.baseline_recording import BaselineRecording
from bakeoff.optimize.behaviour.evaluation import run_tests
from bakeoff.optimize.behaviour.judging import Judging
from bakeoff.optimize.behaviour.options import BehaviourOptions
from bakeoff.optimize.behaviour.server_pool import ServerPool
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.target import parse_target
from bakeoff.settings import Settings
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.workspace import open_workspace
from benchmarks.measure import Bench, Measure
from benchmarks.rows.slots import timed

SOURCE = "def total(numbers):\n    found = 0\n    for number in numbers:\n        found += number\n    return found\n"
BETTER = "def total(numbers):\n    return sum(numbers, {zero})\n"
TESTS = """import pytest
from mod import total

@pytest.fixture
def numbers():
    return list(range(20))

def test_all(numbers):
    assert total(numbers) == 190

def test_none(numbers):
    assert total(numbers[:0]) == 0

def test_some(numbers, tmp_path):
    assert total(numbers[5:10]) == 35
"""
TARGET = parse_target("mod.py:total")


def measure(bench: Bench) -> Iterator[Measure]:
    if not sys.platform.startswith("linux"):
        return
    root = bench.folder / "project"
    root.mkdir()
    (root / "mod.py").write_text(SOURCE)
    (root / "test_mod.py").write_text(TESTS)
    identity = ("-c", "user.name=b", "-c", "user.email=b@localhost")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=root, check=True)
    at_once, times = len(os.sched_getaffinity(0)), 10 if bench.quick else 60
    run, verdict, protection = anyio.run(partial(_rates, root, bench.folder / "cache", at_once, times))
    usual = min(timed(partial(_usual, root)) for _ in range(3))
    for key, what, seconds, goal in (
        ("behaviour-test-run", "three tiny tests with fixtures, run by pytest once", run, 1 / 25),
        ("behaviour-verdict", "a whole verdict on a candidate that is right, by these tests and calls", verdict, 1 / 4),
    ):
        notes = (f"{1 / seconds:.1f} a second, {at_once} at once, sandbox: {protection}; {times} of them",)
        said = f"{what}: seconds each"
        yield Measure(key, said, seconds, "s", goal, seconds / usual, "`python -m pytest` on them, alone", 0.3, notes)


def _usual(root: Path) -> None:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(argv, cwd=root, check=True, capture_output=True)


async def _rates(root: Path, cache: Path, at_once: int, times: int) -> tuple[float, float, str]:
    """Seconds for a run of the tests, and for a verdict; how they were held."""
    servers = ServerPool(BehaviourOptions(python=sys.executable))
    async with open_workspace(root, Settings(), "bench", cache=cache, slots=at_once) as workspace:
        try:
            async with workspace.lease() as slot:
                slot.disposable = True
                baseline = await BaselineRecording(servers, [slot], TARGET).run()
                held = str(baseline.protection["level"])

            async def side_by_side(work: Callable[[Slot, int], Awaitable[None]]) -> float:
                left = iter(range(times))

                async def lane() -> None:
                    async with workspace.lease() as slot:
                        slot.disposable = True
                        for number in left:
                            await work(slot, number)

                since = time.perf_counter()
                async with anyio.create_task_group() as group:
                    for _ in range(at_once):
                        group.start_soon(lane)
                return (time.perf_counter() - since) / times

            await side_by_side(partial(_judged, servers, baseline))  # whatever is started once has been
            runs = await side_by_side(partial(_tested, servers, baseline))
            return runs, await side_by_side(partial(_judged, servers, baseline)), held
        finally:
            await servers.close()


async def _tested(servers: ServerPool, baseline: Baseline, slot: Slot, _: int) -> None:
    place = await servers.process_config(slot)
    job = job_of_tests(TARGET, place, servers.options, "record", wanted=baseline.tests, module=baseline.module)
    async with servers.server(0) as server:
        run = await run_tests(server, place, job)
    assert [test.outcome for test in run.tests.values()] == ["passed"] * 3


async def _judged(servers: ServerPool, baseline: Baseline, slot: Slot, number: int) -> None:
    candidate = Candidate(f"version {number}", {"mod.py": BETTER.format(zero=f"{number} - {number}").encode()})
    judgement = await Judging(servers, slot, baseline, candidate).run()
    assert judgement.same, judgement
