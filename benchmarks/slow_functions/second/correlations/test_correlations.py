import pytest
from correlations import correlation_matrix, pearson, std, strongest_pair


def test_std():
    assert std([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]) == pytest.approx(2.0)


def test_perfect_and_flat():
    assert pearson([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]) == pytest.approx(1.0)
    assert pearson([1.0, 2.0, 3.0], [5.0, 5.0, 5.0]) == 0.0


def test_small_matrix():
    matrix = correlation_matrix([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [1.0, 3.0, 2.0, 4.0]])
    assert matrix == [
        [pytest.approx(1.0), pytest.approx(-1.0), pytest.approx(0.8)],
        [pytest.approx(-1.0), pytest.approx(1.0), pytest.approx(-0.8)],
        [pytest.approx(0.8), pytest.approx(-0.8), pytest.approx(1.0)],
    ]


def test_strongest_pair():
    channels = [[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], [1.0, 3.0, 2.0, 5.0]]
    best = strongest_pair(["a", "b", "c"], channels)
    assert best["a"] == ("b", pytest.approx(-1.0))
    assert best["c"][0] == "b"


def test_large_matrix():
    channels = [[float((i * i * (c + 3) + 7 * i + c) % 29) for i in range(60)] for c in range(7)]
    matrix = correlation_matrix(channels)
    assert [len(row) for row in matrix] == [7] * 7
    assert matrix[0][1] == pytest.approx(0.312052, abs=2e-6)
    assert matrix[2][5] == pytest.approx(-0.037704, abs=2e-6)
    assert matrix[6][3] == pytest.approx(-0.016247, abs=2e-6)
