"""The verdict on a command, from runs that are made up."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from bakeoff.judge.timing.command_pairs import CommandPairs, failed
from bakeoff.judge.timing.command_run import Ran, difference

FLOOR = math.log(1.05)


def ran(wall: float, cpu: float | None = None, **more: object) -> Ran:
    return Ran(wall, wall if cpu is None else cpu, 1000, **{"status": 0, **more})  # type: ignore[arg-type]


def noise(seed: int) -> Iterator[float]:
    chance = random.Random(seed)
    while True:
        yield math.exp(chance.gauss(0, 0.02))


def measured(other: Ran, count: int = 40, original: Ran | None = None) -> CommandPairs:
    """CommandPairs of runs with 2 % of noise."""
    pairs, factors = CommandPairs(), noise(1)
    one = original or ran(1.0)
    for _ in range(count):
        before, after = next(factors), next(factors)
        pairs.add(ran(one.wall * before, one.cpu * before), ran(other.wall * after, other.cpu * after))
    return pairs


def test_twice_as_fast_is_faster_as_soon_as_it_can_be_said() -> None:
    assert measured(ran(0.5), 8).decide(FLOOR) is None
    assert measured(ran(0.5), 8).missing(FLOOR) == "the time is over"
    assert measured(ran(0.5), 12).decide(FLOOR) == ("faster", "")


def test_the_same_is_not_faster() -> None:
    verdict = measured(ran(1.0)).decide(FLOOR)
    assert verdict is not None
    assert verdict[0] == "not-faster"


def test_what_takes_more_processor_time_is_mixed() -> None:
    verdict = measured(ran(0.5, 1.3)).decide(FLOOR)
    assert verdict is not None
    assert verdict[0] == "mixed"
    assert "1.3 times the processor time" in verdict[1]


def test_two_processors_at_once_for_the_same_work_are_faster() -> None:
    assert measured(ran(0.5, 1.0)).decide(FLOOR) == ("faster", "")


def test_of_a_command_that_waits_processor_time_says_little() -> None:
    assert measured(ran(0.5, 0.002), original=ran(1.0, 0.001)).decide(FLOOR) == ("faster", "")


def test_nothing_is_faster_until_its_processor_time_is_known() -> None:
    pairs, chance = CommandPairs(), random.Random(2)
    for _ in range(30):
        pairs.add(ran(1.0), ran(0.5, chance.choice([0.5, 2.0])))
    assert pairs.decide(FLOOR) is None
    assert "processor time" in pairs.missing(FLOOR)


@pytest.mark.parametrize(
    ("run", "verdict", "said"),
    [
        (ran(0.1, status=3), "crash", "status 3"),
        (ran(0.1, status=None), "timeout", "too long"),
        (ran(0.1, left=2), "process-leak", "2 processes"),
        (ran(0.1, output="b", head=b"2\n"), "output-differs", "line 1 of its output is '2' instead of '1'"),
    ],
)
def test_what_fails_fast_never_wins(run: Ran, verdict: str, said: str) -> None:
    pairs = CommandPairs(expected=ran(1.0, output="a", head=b"1\n"))
    assert pairs.add(ran(1.0), run) is None
    for _ in range(30):
        pairs.add(ran(1.0), ran(0.1, output="a"))
    found = pairs.decide(FLOOR)
    assert found is not None
    assert found[0] == verdict
    assert said in found[1]


def test_processes_are_left_where_the_original_leaves_some() -> None:
    assert failed(ran(0.1, left=1), None, leaves=True) is None


def test_where_outputs_differ_is_said() -> None:
    assert difference(ran(1, head=b"a\nb\n"), ran(1, head=b"a\n")) == "it prints 1 lines instead of 2"
    assert difference(ran(1, head=b"a"), ran(1, head=b"a\n")) == "its output differs"
    assert difference(ran(1, head=b"x" * 200), ran(1, head=b"\xff")).startswith(
        "line 1 of its output is '\\\\xff' inst"
    )


def test_a_race_of_equals_is_seldom_won() -> None:
    won = 0
    for seed in range(60):
        pairs, factors = CommandPairs(), noise(seed)
        for _ in range(40):
            pairs.add(ran(next(factors)), ran(next(factors)))
            won += pairs.decide(0.0) == ("faster", "")
            if pairs.decide(0.0) is not None:
                break
    assert won <= 6
