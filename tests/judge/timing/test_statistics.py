"""Simulated noise, with fixed seeds: what the intervals and the race promise."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from bakeoff.judge.timing.elimination import Elimination, alike
from bakeoff.judge.timing.statistics import MedianSequence, middle, rank

Noise = Callable[[random.Random], float]


def heavy_tailed(chance: random.Random) -> float:
    """Mostly 1 %, now and then far off to one side, as a preempted run is."""
    return chance.gauss(0, 0.01) + (chance.expovariate(2) if chance.random() < 0.1 else 0.0)


def cauchy(chance: random.Random) -> float:
    return 0.01 * math.tan(math.pi * (chance.random() - 0.5))


def normal(chance: random.Random) -> float:
    return chance.gauss(0, 0.02)


def centred(noise: Noise) -> float:
    """The median of a noise."""
    chance = random.Random(99)
    return middle(sorted(noise(chance) for _ in range(40_001)))


def test_the_first_decision_is_possible_when_the_reference_says() -> None:
    assert next(n for n in range(1, 50) if rank(n, 0.05)) == 9
    assert next(n for n in range(1, 50) if rank(n, 0.02)) == 11
    assert rank(9, 0.05) == 9
    assert rank(1000, 0.05) < 600  # type: ignore[operator]


def test_nothing_is_known_at_first() -> None:
    sequence = MedianSequence(0.05)
    assert (sequence.low(0.05), sequence.high(0.05), len(sequence)) == (-math.inf, math.inf, 0)
    assert math.isnan(sequence.median)
    assert math.isnan(sequence.spread)
    sequence.extend([3.0, 1.0, 2.0])
    assert (sequence.median, sequence.spread, sequence.values) == (2.0, 1.0, [1.0, 2.0, 3.0])
    sequence.add(4.0)
    assert sequence.median == 2.5


@pytest.mark.parametrize("noise", [normal, heavy_tailed, cauchy])
def test_the_interval_covers_under_peeking(noise: Noise) -> None:
    """Of 400 sequences of 60 values, looked at after each, at most 5 % ever leave out the median."""
    true = centred(noise)
    chance, missed = random.Random(5), 0
    for _ in range(400):
        sequence = MedianSequence(0.05)
        sequence.extend(noise(chance) for _ in range(60))
        missed += not sequence.low(0.05) <= true <= sequence.high(0.05)
    assert missed <= 20


def test_the_same_code_is_almost_never_called_faster() -> None:
    chance, called = random.Random(6), 0
    for _ in range(1000):
        sequence = MedianSequence(0.02)
        sequence.extend(heavy_tailed(chance) - heavy_tailed(chance) for _ in range(40))
        called += sequence.low(0.02) > 0
    assert called <= 10


def test_a_true_gain_is_found_soon() -> None:
    chance = random.Random(7)
    needed = []
    for _ in range(100):
        sequence, count = MedianSequence(0.02), 0
        while sequence.low(0.02) <= math.log(1.05):
            sequence.add(math.log(1.10) + chance.gauss(0, 0.02))
            count += 1
        needed.append(count)
    assert sorted(needed)[50] <= 15
    assert sorted(needed)[95] <= 25


def contest(truth: list[float], chance: random.Random, rounds: int = 300) -> tuple[Elimination, int]:
    field = Elimination([str(place) for place in range(len(truth))], math.log(1.05))
    samples = 0
    for _ in range(rounds):
        if field.settled:
            break
        original = heavy_tailed(chance)
        samples += 1 + len(field.alive)
        field.add({name: truth[int(name)] + original - heavy_tailed(chance) for name in field.alive})
    return field, samples


def test_the_best_of_eight_wins_with_less_work_than_uniform_timing() -> None:
    truth = [math.log(ratio) for ratio in (0.95, 0.98, 1.0, 1.0, 1.03, 1.05, 1.21, 1.25)]
    chance, raced, uniform, wrong = random.Random(8), 0, 0, 0
    for _ in range(60):
        field, samples = contest(truth, chance)
        raced += samples
        wrong += field.leader != "7"
        rounds = 0
        field = Elimination([str(place) for place in range(8)], math.log(1.05))
        while not field.settled:  # the same rules, but nobody is spared
            original = heavy_tailed(chance)
            values = {str(place): true + original - heavy_tailed(chance) for place, true in enumerate(truth)}
            field.add(values)
            rounds += 1
        uniform += 9 * rounds
    assert wrong == 0
    assert uniform / raced >= 1.3


def test_eight_nulls_have_no_winner() -> None:
    chance, winners = random.Random(9), 0
    for _ in range(150):
        field, _ = contest([0.0] * 8, chance)
        winners += any(field.ratios[name].low(field.single) > field.floor for name in field.alive)
    assert winners <= 1


def test_twins_are_not_told_apart_for_ever() -> None:
    chance = random.Random(10)
    field, _ = contest([math.log(1.3), math.log(1.3)], chance, rounds=2000)
    assert field.settled
    assert field.leader in ("0", "1")


def test_the_faster_all_are_the_less_it_matters_who_is_fastest() -> None:
    assert alike(0.0) == alike(math.log(1.5)) == pytest.approx(math.log(1.02))
    assert alike(math.log(5)) == pytest.approx(math.log(1.05))
    assert alike(math.log(50)) == alike(math.log(1e30)) == pytest.approx(math.log(1.1))
    needed = {}
    for fast in (1.5, 50.0):
        chance, needed[fast] = random.Random(11), 0
        for _ in range(10):
            field = Elimination(["one", "other"], math.log(1.05))
            while not field.settled:
                noise = {name: 5 * (heavy_tailed(chance) - heavy_tailed(chance)) for name in ("one", "other")}
                field.add({name: math.log(fast) + noise[name] for name in ("one", "other")})
                needed[fast] += 1
    assert needed[50.0] < needed[1.5] / 2


@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_more_contenders_there_are_the_surer_one_must_be_dropped(count: int) -> None:
    """The chance that any of them is dropped wrongly is shared by them, and by the pairs of them."""

    def rounds(slow: float, fast: float) -> int:
        field = Elimination(map(str, range(count)), 0.0)
        while not field.out:
            field.add({name: slow if name == "0" else fast for name in field.alive})
        assert list(field.out) == ["0"]
        return len(field.ratios["0"])

    def least(share: int) -> int:
        return next(number for number in range(1, 99) if rank(number, 0.05 / share) is not None)

    pairs = max(1, count * (count - 1) // 2)
    assert rounds(-1.0, 1.0) == least(min(count, pairs))
    if count > 1:
        assert rounds(1.0, 2.0) == least(pairs)


def test_a_race_of_nobody_is_over() -> None:
    field = Elimination([], 0.0)
    assert field.settled
    assert field.leader is None
    one = Elimination(["a"], 0.0)
    assert not one.settled
    one.drop("a", "gone")
    one.drop("a", "again")
    assert one.out == {"a": "gone"}
