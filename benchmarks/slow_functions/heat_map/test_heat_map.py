import pytest
from heat_map import hottest, smooth


def test_empty():
    assert smooth([], []) == []
    assert hottest([]) is None


def test_mean_of_the_square():
    assert smooth([[1, 2], [3, 6]], []) == [[3.0, 3.0], [3.0, 3.0]]


def test_radius_zero_changes_nothing():
    assert smooth([[1.0, None, 3.0]], [], radius=0) == [[1.0, None, 3.0]]


def test_broken_cell_is_filled_when_enough_neighbours_read():
    assert smooth([[1, 999, 3]], [(0, 1)]) == [[1.0, 2.0, 3.0]]


def test_broken_cell_stays_empty_among_silent_neighbours():
    grid = [[None, None, None], [4, 999, 8], [None, None, None]]
    assert smooth(grid, [(1, 1)])[1] == [4.0, None, 8.0]


def test_ragged_grid():
    with pytest.raises(ValueError, match="row 1 has 1 cells, not 2"):
        smooth([[1, 2], [3]], [])


def test_hottest_is_the_first_of_equals():
    assert hottest([[1, None], [7, 7]]) == (1, 0)


def test_large_grid():
    grid = [[None if (x * y) % 11 == 3 else (x * 17 + y * 31) % 101 for x in range(17)] for y in range(17)]
    broken = [(i * 5 % 17, i * 11 % 17) for i in range(16)]
    result = smooth(grid, broken, radius=2)
    assert result[9][3:9] == [56.381, 52.571, 53.364, 50.095, 53.522, 53.435]
    assert hottest(result) == (16, 10)
    assert sum(cell for row in result for cell in row if cell is not None) == pytest.approx(14721.442000000001)
