"""Power: what is said to decide a measurement does, and what cannot be told apart is said to be so."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from bakeoff.judge.timing.speed import Calibration
from bakeoff.judge.timing.statistics import MedianSequence
from bakeoff.judge.timing.undecided import in_words, seconds_needed

ALPHA, FLOOR = 0.02, math.log(1.05)
BUSY = Calibration(0.1, None, False, 6.25, 4, 2, {}, 1e-3)


def sequence(count: int, gain: float, noise: float, seed: int = 1) -> MedianSequence:
    chance = random.Random(seed)
    made = MedianSequence(ALPHA)
    made.extend(chance.gauss(math.log(gain), noise) for _ in range(count))
    return made


def is_decided(ratio: MedianSequence) -> bool:
    return ratio.low(ALPHA) > FLOOR or ratio.high(ALPHA) < FLOOR


@pytest.mark.parametrize(("gain", "noise", "count"), [(13.0, 0.3, 4), (1.2, 0.2, 20), (1.1, 0.05, 12), (0.8, 0.2, 12)])
def test_so_many_seconds_mostly_decide_it(gain: float, noise: float, count: int) -> None:
    decided = tried = 0
    for seed in range(200):
        ratio = sequence(count, gain, noise, seed)
        needed = seconds_needed(ratio, ALPHA, FLOOR, 10.0)
        if is_decided(ratio) or needed is None:
            continue
        tried += 1
        decided += is_decided(sequence(round(count * needed / 10.0), gain, noise, seed))
        assert needed > 10.0
    assert tried > 20
    assert decided > 0.7 * tried


def test_nothing_is_promised_where_no_time_would_tell_them_apart() -> None:
    ratio = MedianSequence(ALPHA)
    ratio.extend(FLOOR + side * 0.3 for side in (-1, 1) * 20)
    assert seconds_needed(ratio, ALPHA, FLOOR, 10.0) is None
    assert in_words(None, ratio, FLOOR, None) == "about 1.05x is too near to 1.05x to be told from it"


def test_without_a_pair_nothing_is_known() -> None:
    ratio = MedianSequence(ALPHA)
    assert seconds_needed(ratio, ALPHA, FLOOR, 10.0) is None
    said = in_words(None, ratio, FLOOR, BUSY)
    assert said == (
        "no pair of runs counted; more time would decide it, or a quieter machine (others keep 6.2 processors busy)"
    )


def test_time_is_said_in_two_figures_and_the_load_where_there_is_one() -> None:
    ratio = sequence(4, 13.0, 0.1)
    assert seconds_needed(ratio, ALPHA, FLOOR, 2.0) == pytest.approx(1.5 * 2.0 * 11 / 4)
    assert in_words(41.2, ratio, FLOOR, replace(BUSY, idle=True)) == "some 42 s would decide it"
    assert in_words(0.0412, ratio, FLOOR, BUSY).startswith("some 0.042 s would decide it, or a quieter machine")
