"""What a row of the benchmark gives, and how two things are timed side by side on a noisy machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile

REPOSITORY = Path(__file__).parents[1]
BAKEOFF = str(Path(sys.executable).with_name("bakeoff"))


@dataclass(frozen=True, slots=True)
class Measure:
    """One number with its goal. Lower is better, always.

    Attributes:
        key: names it in the history.
        what: what was measured.
        value: the number that has a goal, in `unit`.
        goal: the most that `value` may be.
        ratio: the number that regressions are looked for in: to a yardstick measured in the same run, so that
            neither a slower machine nor a loaded one looks like a slower bakeoff.
        yardstick: what `ratio` is relative to.
        tolerance: how much worse than the best of the history `ratio` may be, as a part of it.
        notes: what else there is to know: how often, minima or medians, peers.
    """

    key: str
    what: str
    value: float
    unit: str
    goal: float
    ratio: float
    yardstick: str
    tolerance: float = 0.15
    notes: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the goal is met."""
        return self.value <= self.goal


@dataclass(frozen=True, slots=True)
class Bench:
    """What a row is given.

    Attributes:
        folder: an empty folder on the project's own disk.
        quick: smaller and fewer; for trying out, not for the history.
    """

    folder: Path
    quick: bool = False

    def project(self, name: str, workflow: str) -> Path:
        """A new folder with a workflow file `flow.yml`."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "flow.yml").write_text(workflow)
        return folder


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command took, everything it waited for included.

    Attributes:
        wall: seconds.
        cpu: seconds, user and system.
        written: bytes that the kernel was given to write to disk; None where it does not say.
        output: its standard output.
    """

    wall: float
    cpu: float
    written: int | None
    output: str


def spend(argv: Sequence[str | Path], cwd: Path, status: int = 0, timeout: float = 600) -> Spent:
    """Run a command to its end. A status other than `status` raises RuntimeError with what it said."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "NO_COLOR": "1"}
    with TemporaryFile() as said:
        before, since, cpu = written_so_far(), time.perf_counter(), os.times()
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            timeout=timeout,
            check=False,
        )
        wall, now, after = time.perf_counter() - since, os.times(), written_so_far()
        if done.returncode != status:
            said.seek(0)
            text = said.read()[-2000:].decode(errors="replace")
            raise RuntimeError(f"{argv[0]} ended with status {done.returncode}: {text}")
    used = now.children_user + now.children_system - cpu.children_user - cpu.children_system
    written = None if before is None or after is None else after - before
    return Spent(wall, used, written, done.stdout.decode(errors="replace"))


def written_so_far() -> int | None:
    """Bytes that this process and all it waited for gave the kernel to write; None without /proc."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return None
    return int(next(line for line in lines if line.startswith("write_bytes")).split()[1])


@dataclass(slots=True)
class Samples:
    """Repetitions of several things that were taken in turns, by name."""

    taken: dict[str, list[float]] = field(default_factory=dict)

    def least(self, name: str) -> float:
        """The minimum: noise of a shared machine only ever adds."""
        return min(self.taken[name])

    def middle(self, name: str) -> float:
        """The median."""
        return median(self.taken[name])


def in_turns(things: Mapping[str, Callable[[], float]], times: int) -> Samples:
    """Measure A, B, ..., A, B, ..., so that a slow minute of the machine hits all of them alike."""
    samples = Samples({name: [] for name in things})
    for _ in range(times):
        for name, thing in things.items():
            samples.taken[name].append(thing())
    return samples


def ms(seconds: float) -> str:
    """Seconds as text in milliseconds."""
    return f"{seconds * 1e3:.3g} ms"
