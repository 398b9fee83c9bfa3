"""What a command takes before and besides its work, against the bare interpreter."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from benchmarks.measure import BAKEOFF, Bench, Measure, in_turns, ms, spend
from benchmarks.peers import Peer, PeerMissingError, peer
from benchmarks.workflows import fan_out, sequence

NODES = 10_000
GOALS = {
    "help": ("`bakeoff --help`", 80),
    "import": ("`import bakeoff`, over the bare interpreter", 15),
    "run": ("`bakeoff run` of one `true` step, end to end", 250),
    "show": (f"`bakeoff show --json` of a {NODES}-node run", 300),
}


def measure(bench: Bench) -> Iterator[Measure]:
    times = 5 if bench.quick else 15
    one = bench.project("one", sequence(["true"]))
    large = bench.project("large-run", fan_out(NODES))
    spend([BAKEOFF, "run", "flow.yml", "--quiet", "--run-id", "large"], large)
    numbers = count()

    cpu: dict[str, list[float]] = {}

    def wall(name: str, *argv: str, cwd: Path = one) -> float:
        spent = spend(argv, cwd)
        cpu.setdefault(name, []).append(spent.cpu)
        return spent.wall

    things: dict[str, Callable[[], float]] = {
        "bare": lambda: wall("bare", sys.executable, "-c", "pass"),
        "help": lambda: wall("help", BAKEOFF, "--help"),
        "import": lambda: wall("import", sys.executable, "-c", "import bakeoff"),
        "run": lambda: wall("run", BAKEOFF, "run", "flow.yml", "--quiet", "--run-id", f"r{next(numbers)}"),
        "show": lambda: wall("show", BAKEOFF, "show", "large", "--json", cwd=large),
    }
    samples = in_turns(things, times)
    bare = samples.least("bare")
    theirs = _spec_kit(bench)
    for name, (what, goal) in GOALS.items():
        seconds = samples.least(name)
        said = (
            f"minima of {times} in turns (median {ms(samples.middle(name))}, CPU {ms(min(cpu[name]))}); "
            f"bare interpreter {ms(bare)}"
        )
        yield Measure(
            f"start-{name}",
            what,
            (seconds - (bare if name == "import" else 0.0)) * 1e3,
            "ms",
            goal,
            seconds / bare,
            "python -c pass",
            tolerance=0.2,
            notes=(said, *([theirs[name]] if name in theirs else [])),
        )


def _spec_kit(bench: Bench) -> dict[str, str]:
    try:
        specify = peer("spec-kit")
    except PeerMissingError as missing:
        return {"help": f"spec-kit cannot be had: {missing}"}
    project = bench.project("one-spec-kit", sequence(["true"]))

    def wall(specify: Peer, *arguments: str) -> float:
        return specify.spend("specify", *arguments, cwd=project).wall

    samples = in_turns(
        {"help": lambda: wall(specify, "--help"), "run": lambda: wall(specify, "workflow", "run", "flow.yml")}, 3
    )
    return {name: f"spec-kit 1.2.3: {ms(samples.least(name))}" for name in ("help", "run")}
