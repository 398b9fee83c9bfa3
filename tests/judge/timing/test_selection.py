"""Selection of a race, with samplers that know the truth: who is measured again, and what is said of the others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bakeoff.judge.timing.bench_lock import BenchLock
from bakeoff.judge.timing.block import Blocks
from bakeoff.judge.timing.evidence import interval
from bakeoff.judge.timing.race import NO_RECORD, Options, Phase, Raced, Sampler, run_race
from bakeoff.judge.timing.speed import FASTER, NOT_FASTER, Speed, Verdict
from bakeoff.judge.timing.statistics import MedianSequence

pytestmark = pytest.mark.anyio

ALPHA = 0.02
Round = Mapping[str, float]


@dataclass
class Ratios:
    """Pairs of one contender; `cheats` from so many on."""

    cheats: float
    ratio: MedianSequence = field(default_factory=lambda: MedianSequence(ALPHA, 0.05))

    def decide(self, floor: float) -> Verdict | None:
        if len(self.ratio) >= self.cheats:
            return "cross-call-state", "it remembers"
        if self.ratio.high(ALPHA) < floor:
            return NOT_FASTER, "too slow"
        return (FASTER, "") if self.ratio.low(ALPHA) > floor else None

    def dropped(self, floor: float) -> Verdict | None:
        verdict = self.decide(floor)
        return None if verdict is None or verdict[0] == FASTER else verdict

    def missing(self, floor: float) -> str:
        return "the time is over"


class Truth(Sampler[Ratios, Round]):
    """Gives each contender its true speed-up in every round, and finds a cheat after so many pairs."""

    def __init__(self, speedups: Mapping[str, float], cheats: Mapping[str, int], lock: Path) -> None:
        self.speedups, self.cheats = speedups, cheats
        self.blocks = Blocks(BenchLock(lock), 60.0, lambda: None)
        self.phase: Phase | None = None
        self.again: list[str] = []
        self.made = 0

    async def calibrate(self) -> Mapping[str, Verdict]:
        return {}

    def begin(self, phase: Phase) -> None:
        self.phase, self.made = phase, 0

    def pairs(self, alpha: float) -> Ratios:
        if self.phase is Phase.SELECTION:
            name = list(self.speedups)[self.made]
            self.made += 1
            return Ratios(self.cheats.get(name, math.inf))
        return Ratios(math.inf)

    def rounds(self, names: Sequence[str], until: float) -> Sequence[Round]:
        if self.phase is not Phase.SELECTION and self.again[-1:] != list(names):
            self.again += names
        return [{name: math.log(self.speedups[name]) for name in names}]

    def add(self, pairs: Ratios, taken: Round, name: str) -> float | None:
        if self.phase is not Phase.SELECTION and name in self.cheats:
            pairs.cheats = 0
        pairs.ratio.add(taken[name])
        return taken[name]

    async def confirm(self, name: str, speed: Speed) -> Speed:
        return speed

    def speed(self, verdict: Verdict, pairs: Ratios, *, remeasured: bool) -> Speed:
        return Speed(*verdict, speedup=interval(pairs.ratio), remeasured=remeasured, pairs=len(pairs.ratio))

    def untimed(self, verdict: Verdict) -> Speed:
        return Speed(*verdict)

    def close(self) -> None:
        pass


async def raced(lock: Path, speedups: Mapping[str, float], **cheats: int) -> tuple[Raced, Truth]:
    made = Truth(speedups, cheats, lock)
    return await run_race(lambda names: made, speedups, Options(), NO_RECORD), made


@pytest.mark.parametrize("found_after", [20, 10_000], ids=["found in the selection", "found when measured again"])
async def test_who_was_beaten_by_a_cheat_alone_comes_back(tmp_path: Path, found_after: int) -> None:
    found, truth = await raced(tmp_path / "lock", {"honest": 1.26, "cheat": 4.0, "slow": 1.0}, cheat=found_after)
    verdicts = {name: speed.verdict for name, speed in found.speeds.items()}
    assert verdicts == {"honest": "faster", "cheat": "cross-call-state", "slow": "not-faster"}
    assert found.winner == "honest"
    assert truth.again[-1] == "honest"


async def test_the_faster_of_those_that_a_cheat_beat_wins(tmp_path: Path) -> None:
    found, _ = await raced(tmp_path / "lock", {"good": 1.3, "better": 2.0, "cheat": 4.0}, cheat=20)
    assert found.winner == "better"
    assert (
        found.speeds["good"].detail
        == "faster than the original by its own clock, and not measured further: candidate better won"
    )


async def test_who_is_beaten_by_the_winner_is_said_to_be_faster_than_the_original(tmp_path: Path) -> None:
    found, truth = await raced(tmp_path / "lock", {"good": 19.5, "best": 90.0})
    assert (found.winner, truth.again) == ("best", ["best"])
    assert (
        found.speeds["good"].detail
        == "faster than the original by its own clock, and not measured further: candidate best won"
    )
    assert found.speeds["good"].speedup is not None
