"""What reaches the disk: for each item, and for one large output with many steps after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import BAKEOFF, Bench, Measure, spend
from benchmarks.peers import PeerMissingError, peer
from benchmarks.workflows import fan_out, sequence

LARGE = 5_000_000


def measure(bench: Bench) -> Iterator[Measure]:
    items = 400 if bench.quick else 1600
    folder = bench.project("items", fan_out(items))
    written = _written(folder)
    yield Measure(
        "bytes-per-item",
        f"bytes written for each of {items} durable items",
        written / items,
        "B",
        4096,
        written / items / 4096,
        "4 KiB",
        notes=(
            "write_bytes of the whole process tree (/proc/PID/io), runs' files are "
            f"{_size(folder) / items:.0f} B an item; the rest is the write-ahead log, written first",
            _spec_kit(bench, written / items),
        ),
    )
    steps = [f"head -c {LARGE} /dev/zero | tr '\\\\0' x", *["true"] * 40]
    folder = bench.project("large", sequence(steps))
    written = _written(folder)
    yield Measure(
        "bytes-large",
        "bytes written for one 5 MB stdout and 40 steps after it",
        written / 1e6,
        "MB",
        6,
        written / LARGE,
        "the 5 MB",
        notes=(f"the run's files are {_size(folder) / 1e6:.2f} MB",),
    )


def _written(project: Path) -> int:
    written = spend([BAKEOFF, "run", "flow.yml", "--quiet", "--run-id", "r"], project).written
    if written is None:
        raise RuntimeError("this system does not say how much a process writes (no /proc/PID/io)")
    return written


def _size(project: Path) -> int:
    return sum(file.stat().st_size for file in (project / ".bakeoff").rglob("*") if file.is_file())


def _spec_kit(bench: Bench, ours: float, items: int = 100) -> str:
    project = bench.project("bytes-spec-kit", fan_out(items))
    try:
        written = peer("spec-kit").spend("specify", "workflow", "run", "flow.yml", cwd=project).written or 0
    except PeerMissingError as missing:
        return f"spec-kit cannot be had: {missing}"
    return (
        f"spec-kit 1.2.3: {written / items / 1e3:.0f} kB an item at only {items} items, {written / items / ours:.0f}x"
    )
