"""Random hostile bytes for every reader: each answers or refuses, in bounded time and memory, and nothing else happens.

Quick by default; `make soak` takes a thousandth of BAKEOFF_SEEDS of them, and larger ones.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from attack import readers
from attack.hostile import hostile
from bakeoff.reader.reading import UnreadError, read_here

SECONDS = 5.0
"""Of processor time, which no machine that is busy makes longer."""

SOAK = pytest.mark.soak(only=True)
BAD = ("timeout", "died", "MemoryError")


def attack(name: str, seeds: range, size: int) -> None:
    target = readers.TARGETS[name]
    for seed in seeds:
        data = hostile(Random(f"{name} {seed}"), list(target.examples), size)
        try:
            read_here(readers.run, data, name, seconds=SECONDS)
        except UnreadError as failure:
            if not (target.wild if failure.kind in BAD else target.confined):
                pytest.fail(f"{name}, seed {seed}, {data[:80]!r}: {failure.kind}: {failure}")


@pytest.mark.parametrize("name", readers.TARGETS)
def test_no_reader_can_be_brought_to_a_halt(name: str) -> None:
    attack(name, range(40), 60_000)


@pytest.mark.parametrize("name", [pytest.param(name, marks=SOAK) for name in readers.TARGETS])
def test_no_reader_can_be_brought_to_a_halt_by_anything(name: str) -> None:
    attack(name, range(max(100, int(os.environ.get("BAKEOFF_SEEDS", "0")) // 1000)), 2_000_000)


@pytest.mark.parametrize("name", readers.TARGETS)
def test_what_they_are_made_for_is_read(name: str) -> None:
    for example in readers.TARGETS[name].examples:
        readers.run(example, name)  # here, where it can be measured
