"""Timing: how often it is wrong, how soon it is right. `BAKEOFF_TIMING_RUNS` gives another number of runs.

The machine should be quiet; `BAKEOFF_TIMING_LOAD=8` keeps eight busy processes beside it, and measures only how soon
it is right then.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio

from bakeoff.judge.codec import encode
from bakeoff.judge.timing.bench import Bench
from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.elimination import Elimination
from bakeoff.judge.timing.evidence import REPORT, Evidence
from bakeoff.judge.timing.functions import race
from bakeoff.judge.timing.parent import Code, Place
from bakeoff.judge.timing.plan import Input
from bakeoff.judge.timing.race import Options
from bakeoff.judge.timing.speed import FASTER, Speed
from benchmarks.measure import Bench as Given
from benchmarks.measure import Measure

ORIGINAL = "def f(xs):\n    total = 0\n    for x in xs:\n        total += x * x - x\n    return total\n"
OTHER_WORDS = "STEP = 7\n\n\ndef f(numbers):\n    a = 0\n    for n in numbers:\n        a += n * n - n\n    return a\n"
WORK = {
    "numbers": ("t = 0", "for i in range({count}):\n        t += i", 1.0),
    "words": ("t = {{}}", "for i in range({count}):\n        t[i % 50] = t.get(i % 50, 0) + 1", 0.5),
    "text": ("t = []", "for i in range({count}):\n        t.append(str(i) + 'x')\n    ''.join(t)", 0.3),
    "objects": ("t = 0", "for i in range({count}):\n        t += len(Exception(i).args)", 0.25),
    "calls": ("t = abs", "for i in range({count}):\n        t(-i) == 3", 0.7),
}
"""Ordinary work in proportion to a count: what comes before, the loop, and how often a count of 1 goes round."""
PAIRS = 40
SHORT, LONG = 3_000, 300_000
"""Counts that take some 0.1 and 10 ms a call on a machine of 2026, of five kinds of work in turns."""
QUIET = [
    ("timing-110-short", SHORT, 1.10, 1.0),
    ("timing-110-long", LONG, 1.10, 15.0),
    ("timing-103", SHORT, 1.03, 5.0),
]
LOADED = [
    ("timing-loaded-1300", SHORT, 13.0, 2.0),
    ("timing-loaded-200", SHORT, 2.0, 10.0),
    ("timing-loaded-120", SHORT, 1.2, 60.0),
    ("timing-loaded-100", SHORT, 1.0, 10.0),
]
"""True gains, and the seconds in which each is to be called faster, or not."""


def measure(bench: Given) -> Iterator[Measure]:
    runs = int(os.environ.get("BAKEOFF_TIMING_RUNS", "0"))
    busy = int(os.environ.get("BAKEOFF_TIMING_LOAD", "0"))
    if busy:
        with load(busy):
            yield from _gains(bench, runs or (3 if bench.quick else 20), LOADED)
        return
    yield from _itself(bench, runs or (10 if bench.quick else 1000))
    yield from _other_words(bench, runs or (5 if bench.quick else 20))
    yield from _gains(bench, runs or (3 if bench.quick else 100), QUIET)
    yield from _races(50 if bench.quick else 500)


@contextmanager
def load(count: int) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    hogs = [context.Process(target=_burn, daemon=True) for _ in range(count)]
    for hog in hogs:
        hog.start()
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.join()


def _burn() -> None:
    while True:
        pass


def _numbers() -> list[Input]:
    return [Input(encode(((list(range(size)),), {})), place % 2 == 1) for place, size in enumerate(range(40, 72, 2))]


def _bench(folder: Path, original: str, other: str, seed: int, parents: int) -> tuple[Bench, Evidence]:
    """Pairs of one run: `PAIRS` of them."""
    (folder / "mod.py").write_text(original)
    place = Place((sys.executable,), str(folder), dict(os.environ), tuple(sorted(os.sched_getaffinity(0))))
    files = [{"mod.py": original.encode()}, {"mod.py": other.encode()}]
    made = Bench(place, Code("mod", "f", str(folder)), files, seed)
    made.renew(max(2, parents))
    known, _, *how = made.learn(_numbers())
    plan = made.plan(known, *how)
    for parent in made.parents[parents:]:
        parent.close()
    del made.parents[parents:]
    evidence = Evidence(plan.weights)
    while len(evidence.ratio) < PAIRS:
        taken = made.round(plan, [0, 1])
        evidence.add(taken.samples[0], taken.samples[1], taken.job)
    return made, evidence


def _runs(folder: Path, other: str, runs: int, parents: int) -> tuple[int, int, list[float], float]:
    faster = covered = 0
    medians = []
    since = time.perf_counter()
    for seed in range(runs):
        made, evidence = _bench(folder, ORIGINAL, other, seed, parents)
        made.close()
        faster += evidence.ratio.low(evidence.alpha) > 0
        covered += evidence.ratio.low(REPORT) <= 0 <= evidence.ratio.high(REPORT)
        medians.append(evidence.ratio.median)
    return faster, covered, sorted(medians), time.perf_counter() - since


def _itself(bench: Given, runs: int) -> Iterator[Measure]:
    faster, covered, medians, seconds = _runs(bench.folder, ORIGINAL, runs, 5)
    notes = (f"{runs} runs of {PAIRS} pairs in {seconds:.0f} s; medians {medians[0]:+.2%} to {medians[-1]:+.2%}",)
    yield _share("timing-itself-faster", "the same code called faster, min_speedup 1.0", faster, runs, 0.01, notes)
    yield _share("timing-itself-missed", "95 % intervals without 1", runs - covered, runs, 0.07, notes)


def _other_words(bench: Given, runs: int) -> Iterator[Measure]:
    _, covered, medians, seconds = _runs(bench.folder, OTHER_WORDS, runs, 1)
    notes = (f"{runs} parents, {PAIRS} pairs each, {seconds:.0f} s; medians {medians[0]:+.2%} to {medians[-1]:+.2%}",)
    what = "the same work in other words: 95 % intervals of one parent without 1"
    yield _share("timing-words-missed", what, runs - covered, runs, 0.07, notes)


def _gains(bench: Given, runs: int, gains: Sequence[tuple[str, int, float, float]]) -> Iterator[Measure]:
    for key, count, ratio, seconds in gains:
        speeds, took = [], []
        for seed in range(runs):
            since = time.perf_counter()
            speeds.append(_race(bench.folder, count, ratio, seconds, seed))
            took.append(time.perf_counter() - since)
        faster = sum(speed.verdict == FASTER for speed in speeds)
        words = {verdict: sum(speed.verdict == verdict for speed in speeds) for verdict in {s.verdict for s in speeds}}
        notes = (f"{runs} races of {seconds:g} s: {words}; median {sorted(took)[runs // 2]:.2f} s",)
        if ratio > 1.05:
            what = f"a true {ratio:.2f}x not called faster than 1.05 within {seconds:g} s"
            yield _share(key, what, runs - faster, runs, 0.05 if count == SHORT else 1.0, notes)
        else:
            yield _share(key, f"a true {ratio:.2f}x called faster than 1.05", faster, runs, 0.01, notes)


def _source(seed: int, count: float) -> bytes:
    before, loop, part = list(WORK.values())[seed % len(WORK)]
    return f"def f(n):\n    {before.format()}\n    {loop.format(count=round(count * part))}\n    return n\n".encode()


def _race(folder: Path, count: int, ratio: float, seconds: float, seed: int) -> Speed:
    original, other = _source(seed, count * ratio), _source(seed, count)
    (folder / "mod.py").write_bytes(original)
    place = Place((sys.executable,), str(folder), dict(os.environ), tuple(sorted(os.sched_getaffinity(0))))
    inputs = [Input(encode(((n,), {})), n % 2 == 1) for n in range(4)]
    found = anyio.run(
        lambda: race(
            place, Code("mod", "f", str(folder)), {"mod.py": original}, {"a": {"mod.py": other}}, inputs,
            Options(seconds=seconds, seed=seed), lock=BenchLock(folder / "lock"),
        )
    )  # fmt: skip
    return found.speeds["a"]


def _noise(chance: random.Random) -> float:
    return chance.gauss(0, 0.03) + (chance.expovariate(2) if chance.random() < 0.05 else 0.0)


def _races(runs: int) -> Iterator[Measure]:
    """Simulated: the rules, not the machine."""
    chance = random.Random(1)
    truth = [math.log(each) for each in (0.9, 0.95, 1.0, 1.02, 1.05, 1.1, 1.2, 1.24)]
    raced = uniform = wrong = 0
    for _ in range(runs):
        samples, field = _contest(truth, chance)
        raced += samples
        wrong += field.leader not in ("6", "7")
        rounds, field = 0, Elimination(map(str, range(8)), math.log(1.05))
        while not field.settled:
            original, rounds = _noise(chance), rounds + 1
            field.add({str(place): true + original - _noise(chance) for place, true in enumerate(truth)})
        uniform += 9 * rounds
    notes = (f"{runs} simulated races of 8, {wrong} won by a worse one; goal: at least 1.3 times fewer forks",)
    what = "forks that a race takes, to those of timing all alike"
    yield Measure("timing-racing", what, raced / uniform, "", 1 / 1.3, raced / uniform, "uniform timing", 0.1, notes)
    winners = 0
    for _ in range(runs):
        _, field = _contest([0.0] * 8, chance)
        winners += any(field.ratios[name].low(field.single) > field.floor for name in field.alive)
    yield _share("timing-nulls", "races of eight nulls that one of them wins", winners, runs, 0.01, ("simulated",))


def _contest(truth: list[float], chance: random.Random) -> tuple[int, Elimination]:
    field, samples = Elimination(map(str, range(len(truth))), math.log(1.05)), 0
    for _ in range(500):
        if field.settled:
            break
        original, samples = _noise(chance), samples + 1 + len(field.alive)
        field.add({name: truth[int(name)] + original - _noise(chance) for name in field.alive})
    return samples, field


def _share(key: str, what: str, count: int, runs: int, goal: float, notes: tuple[str, ...]) -> Measure:
    return Measure(key, what, count / runs, f"of {runs}", goal, count / runs, "all runs", 1.0, notes)
