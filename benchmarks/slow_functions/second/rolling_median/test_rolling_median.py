import math

import pytest
from rolling_median import hampel, median, running_median


def test_median():
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5
    assert math.isnan(median([]))


def test_running_median():
    assert running_median([1.0, 9.0, 2.0, math.nan, 3.0], 1) == [5.0, 2.0, 5.5, 2.5, 3.0]


def test_one_spike():
    series = [1.0, 1.2, 0.9, 50.0, 1.1, 1.0, 0.8, 1.1]
    cleaned, outliers = hampel(series, 3)
    assert outliers == [3]
    assert cleaned == [1.0, 1.2, 0.9, 1.0, 1.1, 1.0, 0.8, 1.1]
    assert series[3] == 50.0


def test_gap_and_flat():
    cleaned, outliers = hampel([2.0, 2.0, math.nan, 2.0, 9.0], 2)
    assert outliers == []
    assert math.isnan(cleaned[2])


def test_large_series():
    series = [math.sin(i / 9) + (i * 37 % 11) / 40 for i in range(900)]
    for i in range(7, 900, 31):
        series[i] += 6 if i % 2 else -4
    series[100] = math.nan
    cleaned, outliers = hampel(series, 6)
    assert outliers == [i for i in range(7, 900, 31) if i != 100]
    assert cleaned[7] == pytest.approx(0.9164709848078965)
    assert cleaned[8] == series[8]
    assert math.isnan(cleaned[100])
