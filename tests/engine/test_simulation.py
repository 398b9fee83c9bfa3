"""Thousands of random programs on trio's mock clock. BAKEOFF_SEEDS sets how many, BAKEOFF_FIRST_SEED from where."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from simulation import search, sessions
from simulation.search import PROGRAMS, SeedFailure, simulate

SEEDS = int(os.environ.get("BAKEOFF_SEEDS", "1200"))
FIRST = int(os.environ.get("BAKEOFF_FIRST_SEED", "0"))
PARTS = 8  # so that several processes can share the work


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_promises_hold_under_every_seed(part: int) -> None:
    for seed in range(FIRST + part, FIRST + SEEDS, PARTS):
        simulate(seed)


def test_a_seed_replays_exactly() -> None:
    seeds = range(8 * len(PROGRAMS))
    assert [list(simulate(seed)) for seed in seeds] == [list(simulate(seed)) for seed in seeds]


def test_different_seeds_take_different_ways() -> None:
    runs = [seed for seed in range(300) if PROGRAMS[seed % len(PROGRAMS)] is sessions]
    assert len({str(list(simulate(seed))) for seed in runs}) > 0.8 * len(runs)


def test_a_failing_seed_says_how_to_replay_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(chance: object, trace: object) -> None:
        raise AssertionError("the bound was exceeded")

    monkeypatch.setattr(search, "PROGRAMS", (SimpleNamespace(__name__="simulation.broken", simulate=broken),))
    with pytest.raises(SeedFailure) as caught:
        simulate(7)
    assert "seed 7 (broken): AssertionError: the bound was exceeded" in str(caught.value)
    assert "python tests/simulate.py --first 7 --count 1" in str(caught.value)
