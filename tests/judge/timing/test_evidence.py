"""Verdicts from made-up samples: each rule by itself."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from bakeoff.judge.timing.evidence import Evidence, Weights
from bakeoff.judge.timing.race import Raced
from bakeoff.judge.timing.sample import Job, Sample, compare, ended, inspect
from bakeoff.judge.timing.speed import Calibration, Interval, Speed

FLOOR = math.log(1.05)
COUNT = 6
WEIGHTS = Weights(fresh=[1, 3, 5], heavy=[4], waits=False, work=60_000.0)
JOB = Job([b""] * COUNT, [2] * COUNT, 2, list(range(COUNT)), 0, 0, 1.0)


def sample(
    chance: random.Random, warm: Any = 10_000.0, *, cold: float = 10_000.0, first: float = 0.0, load: float = 2e6,
    forged: float = 1.0, cpu: float = 0.0, own: float = 1.1,
) -> Sample:  # fmt: skip
    """One fork, with 1 % of noise.

    Args:
        chance: of the noise.
        warm: nanoseconds of a call, of all inputs or of each.
        cold: of first calls.
        first: what the very first takes besides.
        load: of loading.
        forged: what the reported times are divided by.
        cpu: seconds of processor time besides.
        own: share of the time that passed in which it had the processor.
    """
    each = warm if isinstance(warm, list) else [warm] * COUNT
    noisy = [[2 * taken * chance.gauss(1, 0.01) for _ in range(2)] for taken in each]
    colds = [cold * chance.gauss(1, 0.01) for _ in each]
    colds[0] += first
    passed = sum(map(sum, noisy)) + sum(colds)

    def pair(taken: float) -> tuple[int, int]:
        return int(taken / forged), int(taken / forged * own)

    made = Sample(0, cold=[pair(taken) for taken in colds], warm=[[pair(t) for t in batches] for batches in noisy])
    made.load = int(load * chance.gauss(1, 0.01))
    made.outside = int(passed + 1e6 + chance.gauss(0, 5_000))
    made.facts = {"cpu_seconds": (passed + 3e6) / 1e9 + cpu + chance.gauss(0, 5e-6)}
    return made


def evidence(pairs: int = 30, weights: Weights = WEIGHTS, job: Job = JOB, **other: Any) -> Evidence:
    chance = random.Random(3)
    found = Evidence(weights)
    for _ in range(pairs):
        found.add(sample(chance), sample(chance, **other), job)
    return found


class Steady(random.Random):
    """A machine without noise."""

    def gauss(self, mu: float = 0.0, sigma: float = 1.0) -> float:
        return mu


def steady(pairs: int = 15, *, hidden: float = 0.0, weights: Weights = WEIGHTS, **other: Any) -> Evidence:
    """The same without noise; `hidden` nanoseconds of each fork of the contender pass and are not reported."""
    found = Evidence(weights)
    for _ in range(pairs):
        one, two = sample(Steady()), sample(Steady(), **other)
        two.outside += int(hidden)
        two.facts["cpu_seconds"] += hidden / 1e9
        found.add(one, two, JOB)
    return found


def verdict(**other: Any) -> str:
    decided = evidence(**other).decide(FLOOR)
    assert decided is not None
    return decided[0]


def test_processor_time_says_nothing_of_what_waits_less() -> None:
    faster = {"warm": 5_000.0, "cold": 5_000.0, "cpu": 150e-6}  # it takes half the time, and as much of a processor
    assert verdict(**faster) == "tampering"
    assert verdict(**faster, weights=replace(WEIGHTS, waits=True)) == "faster"


@pytest.mark.parametrize(("share", "found"), [(0.4, "faster"), (0.6, "tampering")])
def test_attributes_that_are_made_and_freed_outside_of_calls_are_no_tampering(share: float, found: str) -> None:
    faster = {"warm": 5_000.0, "cold": 5_000.0, "hidden": share * 5 * COUNT * 5_000.0}
    for added, expected in ((False, "tampering"), (True, found)):
        decided = steady(**faster, weights=replace(WEIGHTS, added=added)).decide(FLOOR)
        assert decided is not None
        assert decided[0] == expected


def test_what_is_faster_is_called_so() -> None:
    assert verdict(warm=5_000.0, cold=5_000.0) == "faster"


@pytest.mark.parametrize("spread", [0.05, 0.3, 1.0])
def test_nothing_is_faster_until_first_calls_are_known_to_be(spread: float) -> None:
    """A memo whose first calls are noisy: that it remembers shows late, or never."""
    chance, found = random.Random(4), Evidence(WEIGHTS)
    for _ in range(60):
        cold = 10_000.0 * chance.lognormvariate(0, spread)
        found.add(sample(chance), sample(chance, warm=5_000.0, cold=cold), JOB)
        assert (found.decide(FLOOR) or ("",))[0] != "faster"


def test_why_nothing_is_decided_names_first_calls() -> None:
    assert "first calls" in evidence(pairs=30, warm=9_000.0, cold=9_990.0).missing(FLOOR)
    found = evidence(warm=5_000.0, cold=5_000.0)
    speedup = found.speedup()
    assert speedup is not None
    assert speedup.low < 2 < speedup.high  # type: ignore[operator]


def test_an_honest_constant_time_is_no_tampering() -> None:
    assert verdict(warm=100.0, cold=150.0) == "faster"


def test_of_honest_versions_all_time_is_accounted_for() -> None:
    """What is said to be gained, of first calls and of those in batches, is what passes less outside."""
    each = [5_000.0, 4_000.0, 9_000.0, 20_000.0, 8_000.0, 100.0]
    found = steady(warm=each, cold=7_000.0)
    assert found.gain.median == 4 * sum(10_000.0 - taken for taken in each) + COUNT * 3_000.0
    for clock in (found.hidden, found.spent, found.unseen):
        assert clock.median == pytest.approx(0.0, abs=1e-3)
    later = steady(warm=each, cold=7_000.0, hidden=12_345.0)
    assert [clock.median for clock in (later.hidden, later.spent)] == pytest.approx([12_345.0] * 2)


def test_half_of_what_is_gained_must_show_on_a_clock_outside() -> None:
    gain = 5 * COUNT * 1_000.0  # too little for what is hidden of it to be called tampering
    believed = steady(warm=9_000.0, cold=9_000.0, hidden=0.4 * gain)
    assert believed.decide(FLOOR) == ("faster", "")
    doubted = steady(warm=9_000.0, cold=9_000.0, hidden=0.6 * gain)
    assert doubted.decide(FLOOR) is None
    assert "clock outside" in doubted.missing(FLOOR)


@pytest.mark.parametrize("warm", [[5_000.0, 6_000.0], [6_000.0, 5_000.0]])
def test_what_is_gained_must_be_more_than_the_floor_on_all_inputs_and_on_fresh_ones(warm: list[float]) -> None:
    found = steady(warm=warm * 3, cold=5_000.0)
    assert found.fresh.median != found.ratio.median
    floor = min(found.fresh.median, found.ratio.median)
    verdicts = [found.decide(near) for near in (math.nextafter(floor, 0.0), floor, math.nextafter(floor, 1.0))]
    assert [each and each[0] for each in verdicts] == ["faster", None, "not-faster"]


def test_a_first_call_that_takes_no_measurable_time_has_a_ratio() -> None:
    """Of what keeps something first calls count, by processor time where they are long and something else ran."""
    found = Evidence(WEIGHTS)
    one, two = sample(Steady(), cold=20e6), sample(Steady(), cold=20e6)
    two.keeps, two.cold = ["m.cache"], [(passed, 0) for passed, _ in two.cold]
    assert found.add(one, two, JOB) == pytest.approx(math.log(22e6))


def test_what_is_not_faster_is_called_so_soon() -> None:
    assert verdict(pairs=11) == "not-faster"
    assert evidence(pairs=10).decide(FLOOR) is None


def test_memorised_inputs_win_nothing() -> None:
    found = evidence(warm=[100.0, 10_000.0] * 3, cold=5000.0)
    assert found.decide(FLOOR) == ("not-faster", found.decide(FLOOR)[1])  # type: ignore[index]
    assert "only on inputs that tests show" in found.decide(FLOOR)[1]  # type: ignore[index]


def test_mixed_is_slower_in_total_or_on_a_heavy_input() -> None:
    assert verdict(warm=[1_000.0] * 4 + [12_000.0, 1_000.0], cold=1_000.0) == "mixed"
    assert verdict(warm=[1_000.0] * 4 + [120_000.0, 1_000.0], cold=1_000.0) == "mixed"
    light = replace(WEIGHTS, heavy=[])
    assert verdict(warm=[1_000.0] * 4 + [12_000.0, 1_000.0], cold=1_000.0, weights=light) == "faster"


def test_state_across_calls_is_seen() -> None:
    assert verdict(warm=100.0, cold=10_000.0) == "cross-call-state"
    assert verdict(warm=9_000.0, cold=9_000.0, first=5e6) == "cross-call-state"
    assert verdict(warm=5_000.0, cold=5_000.0, load=60e6, cpu=0.058) == "cross-call-state"


def test_times_that_do_not_add_up_are_tampering() -> None:
    found = evidence(forged=3.0).decide(FLOOR)
    assert found is not None
    assert found[0] == "tampering"
    hidden = evidence(warm=3_000.0, cold=3_000.0, cpu=0.0005).decide(FLOOR)
    assert hidden is not None
    assert hidden[0] == "tampering"
    assert "processor time" in hidden[1]


def test_more_work_is_asked_for_while_the_clock_outside_says_nothing() -> None:
    chance, found = random.Random(1), Evidence(WEIGHTS)
    for _ in range(20):
        one, other = sample(chance), sample(chance, 8_000.0, cold=8_000.0)
        for each in (one, other):
            each.outside += int(chance.gauss(0, 300_000))
            each.facts["cpu_seconds"] += chance.gauss(0, 0.0003)
        found.add(one, other, JOB)
    assert found.decide(FLOOR) is None
    more = found.more_work(FLOOR)
    assert 1 < more <= 16
    found.regard_anew()
    assert found.more_work(FLOOR) == 1
    assert not found.agreed


def test_disturbed_pairs_are_dropped_or_count_by_processor_time() -> None:
    found = evidence(warm=5_000.0, own=0.5)
    assert (found.disturbed, len(found.ratio)) == (30, 0)
    assert found.speedup() is None
    assert evidence(warm=5_000.0, own=0.5, weights=replace(WEIGHTS, waits=True)).disturbed == 0
    chance, long = random.Random(2), Evidence(WEIGHTS)
    single = replace(JOB, repeats=0)
    for _ in range(30):
        one = sample(chance, cold=20e6)
        other = sample(chance, cold=20e6, own=0.5)
        for each in (one, other):
            each.warm = [[] for _ in range(COUNT)]
        long.add(one, other, single)
    assert long.disturbed == 0
    assert 1.9 < math.exp(long.ratio.median) < 2.3
    assert len(long.cold) == 0


def test_a_failure_is_the_verdict() -> None:
    found = Evidence(WEIGHTS)
    failed = Sample(1)
    failed.fail("timeout", "late")
    failed.fail("crash", "later")
    assert found.add(sample(random.Random(1)), failed, JOB) is None
    assert found.decide(FLOOR) == ("timeout", "late")
    assert found.more_work(FLOOR) == 1


@pytest.mark.parametrize(
    ("facts", "changed", "reason"),
    [
        ({"moved": True}, [], "tampering"), ({}, ["gc"], "tampering"), ({"children": 1}, [], "process-leak"),
        ({"left": 2}, [], "process-leak"), ({"threads": 3}, [], "process-leak"), ({"cpu_seconds": 9.0}, [], "tampering"),
        ({"threads": 1, "cpu_seconds": 0.001}, [], None),
    ],
)  # fmt: skip
def test_what_a_fork_did_besides(facts: dict[str, Any], changed: list[str], reason: str | None) -> None:
    made = Sample(1, facts=facts, changed=changed, load=1000, outside=1000)
    inspect(made, 1)
    assert made.failure == reason


def test_how_a_fork_ended() -> None:
    for facts, reason in (
        ({"how": "timeout"}, "timeout"),
        ({"how": "broken", "status": 11}, "crash"),
        ({"how": ""}, None),
    ):
        made = Sample(1, facts=facts)
        ended(made)
        assert made.failure == reason


def test_only_equal_results_count() -> None:
    from bakeoff.judge.codec import encode

    made = Sample(1, messages=[encode(1)], digests=[["00"]])
    compare(made, [encode(2)])
    assert made.detail == "input 0: int 1 instead of int 2"


def test_the_winner_is_the_fastest_of_those_that_were_measured_again() -> None:
    speeds = {
        "selected": Speed("faster", "", Interval(9.0, 8.0, None)),
        "good": Speed("faster", "", Interval(2.0, 1.5, None), remeasured=True),
        "best": Speed("faster", "", Interval(3.0, 1.2, None), remeasured=True),
        "mixed": Speed("mixed", "", Interval(5.0, 4.0, None), remeasured=True),
        "untimed": Speed("faster", "", None, remeasured=True),
    }
    assert Raced.of(speeds, None).winner == "best"
    assert Raced.of({name: speeds[name] for name in ("selected", "mixed", "untimed")}, None).winner is None


def test_speeds_go_through_json() -> None:
    import json

    speed = Speed("faster", "", Interval(2.0, 1.5, None), cold=Interval(1.0, 0.0, 3.0), pairs=3, receipt={"parents": 5})
    assert Speed.from_json(json.loads(json.dumps(speed.to_json()))) == speed
    assert Interval.of_logarithms(math.nan, 0.0, 0.0) is None
    assert str(Interval(2.0, 1.5, 3.0)) == "2.00x [1.50, 3.00]"
    assert str(Interval(2.0, 1.5, None)) == "2.00x [1.50, -]"
    assert str(Interval(2.0, 0.0, 3.0)) == "2.00x [-, 3.00]"
    assert str(Interval(2.0, 0.0, None)) == "2.00x so far"
    assert Interval.of_logarithms(0.0, -math.inf, math.inf) == Interval(1.0, 0.0, None)
    assert json.dumps(Calibration(0.1, None, True, 0.0, 1, 1, {}, 0.1).to_json())
