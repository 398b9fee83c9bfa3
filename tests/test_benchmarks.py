"""The benchmark's own reckoning: the reference scheduler, and what counts as a regression."""

import os

from benchmarks.history import append, line, read, regressions
from benchmarks.measure import Measure, in_turns
from benchmarks.rows.list_scheduling import list_schedule


def measure(ratio, tolerance=0.1):
    return Measure("row", "a row", 1.0, "s", 2.0, ratio, "a yardstick", tolerance)


def entry(ratio, **more):
    return {"cores": os.cpu_count(), "quick": False, "ratios": {"row": ratio}, **more}


def test_the_reference_scheduler_gives_the_known_length():
    assert list_schedule([1.0 if number % 4 == 0 else 0.05 for number in range(32)], 4) == 2.5
    assert list_schedule([3, 1, 1, 1], 2) == 3


def test_a_ratio_beyond_the_tolerance_of_the_best_is_a_regression():
    earlier = [entry(1.3), entry(1.0), entry(1.2)]
    assert regressions([measure(1.09)], earlier, quick=False) == []
    (text,) = regressions([measure(1.11)], earlier, quick=False)
    assert "row" in text
    assert "the best was 1" in text


def test_only_runs_of_the_same_kind_are_compared():
    assert regressions([measure(9.0)], [entry(1.0, quick=True)], quick=False) == []
    assert regressions([measure(9.0)], [entry(1.0, cores=10_000)], quick=False) == []
    assert regressions([measure(9.0)], [], quick=False) == []


def test_history_keeps_a_line_a_run_and_names_no_machine(tmp_path):
    file = tmp_path / "history.jsonl"
    assert read(file) == []
    for ratio in (1.0, 1.23456):
        append(line([measure(ratio)], quick=False), file)
    first, second = read(file)
    assert set(first) == {"date", "commit", "cores", "load", "quick", "ratios"}
    assert second["ratios"] == {"row": 1.2346}


def test_things_are_measured_in_turns():
    order = []
    things = {name: lambda name=name: order.append(name) or float(len(order)) for name in "ab"}
    samples = in_turns(things, 3)
    assert order == list("ababab")
    assert (samples.least("b"), samples.middle("b")) == (2.0, 4.0)
