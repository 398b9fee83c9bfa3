import pytest
from sensor_stats import find_spikes, median, spread, summary


def test_median_and_spread():
    assert median([3, 1, 2]) == 2
    assert median([4, 1, 2, 3]) == 2.5
    assert spread([1, 1, 2, 2, 4, 6, 9]) == 1


def test_summary():
    assert summary([None]) is None
    assert summary([1, None, 2, 6]) == {"count": 3, "mean": 3.0, "median": 2}


def test_spike_is_found():
    assert find_spikes([1, 3, 2, 3, 50, 2, 1], window=4) == [(4, 50)]


def test_constant_window():
    assert find_spikes([5, 5, 5, 5.5, 5], window=4) == [(3, 5.5)]


def test_nothing_is_judged_before_half_a_window():
    assert find_spikes([1, 90, 1], window=6) == []
    assert find_spikes([], window=6) == []


def test_gaps():
    assert find_spikes([1, None, 1, None, None, 9], window=2) == [(5, 9)]


def test_spikes_stay_out_of_later_windows():
    assert find_spikes([1, 1, 9, 9, 9], window=3) == [(2, 9), (3, 9), (4, 9)]


def test_window_too_small():
    with pytest.raises(ValueError, match="two values"):
        find_spikes([1], window=1)


def test_large_series():
    values = [None if i % 19 == 0 else (i * 37 % 23) + (90 if i % 41 == 7 else 0) for i in range(170)]
    assert find_spikes(values, window=9) == [(7, 96), (48, 95), (89, 94), (130, 93)]
