"""Durable shell items through the command line, against xargs, which keeps and guards nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from benchmarks.measure import BAKEOFF, Bench, Measure, Spent, in_turns, ms, spend
from benchmarks.peers import PeerMissingError, peer
from benchmarks.workflows import fan_out


def measure(bench: Bench) -> Iterator[Measure]:
    items, times = (1000, 2) if bench.quick else (10_000, 3)
    project = bench.project("fan", fan_out(items))
    numbers = count()
    cpu: dict[str, list[float]] = {"bakeoff": [], "xargs": []}

    def noted(name: str, spent: Spent) -> float:
        cpu[name].append(spent.cpu)
        return spent.wall

    def bakeoff() -> float:
        run_id = f"r{next(numbers)}"
        return noted("bakeoff", spend([BAKEOFF, "run", "flow.yml", "--quiet", "--run-id", run_id], project))

    def xargs() -> float:
        return noted("xargs", spend(["sh", "-c", f"seq {items} | xargs -P 8 -I{{}} sh -c true"], project))

    samples = in_turns({"xargs": xargs, "bakeoff": bakeoff}, times)
    ratio = samples.least("bakeoff") / samples.least("xargs")
    yield Measure(
        "shell-fan-out",
        f"{items} durable `shell: true` items, 8 at once",
        ratio,
        "x xargs",
        1.2,
        ratio,
        "seq | xargs -P 8 sh -c true",
        notes=(
            f"minima of {times} in turns: bakeoff {samples.least('bakeoff'):.2f} s (CPU {min(cpu['bakeoff']):.2f} s), "
            f"xargs {samples.least('xargs'):.2f} s (CPU {min(cpu['xargs']):.2f} s); "
            f"medians {samples.middle('bakeoff'):.2f} s, {samples.middle('xargs'):.2f} s",
            _spec_kit(bench, samples.least("bakeoff") / items),
        ),
    )


def _spec_kit(bench: Bench, ours: float, items: int = 100) -> str:
    project = bench.project("fan-spec-kit", fan_out(items))
    try:
        spent = peer("spec-kit").spend("specify", "workflow", "run", "flow.yml", cwd=project)
    except PeerMissingError as missing:
        return f"spec-kit cannot be had: {missing}"
    each = spent.wall / items
    return f"spec-kit 1.2.3: {ms(each)} an item at only {items} items, {each / ours:.0f}x (and see growth)"
