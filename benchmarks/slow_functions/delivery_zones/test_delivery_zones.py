from collections import Counter

import pytest
from delivery_zones import Zone, assign

SQUARE = Zone("square", [(0, 0), (4, 0), (4, 4), (0, 4)])
TRIANGLE = Zone("triangle", [(2, 2), (4, 2), (2, 4)])


def test_zone_geometry():
    assert SQUARE.area() == 16
    assert TRIANGLE.area() == 2
    assert SQUARE.contains((1, 1))
    assert not SQUARE.contains((5, 1))
    assert SQUARE.distance((7, 8)) == pytest.approx(5)


def test_smaller_zone_wins():
    assert assign([SQUARE, TRIANGLE], [(2.5, 2.5), (1, 1)]) == {(2.5, 2.5): "triangle", (1, 1): "square"}


def test_priority_wins_over_size():
    important = Zone("important", SQUARE.corners, priority=1)
    assert assign([TRIANGLE, important], [(2.5, 2.5)]) == {(2.5, 2.5): "important"}


def test_name_decides_among_equals():
    twin = Zone("a-twin", SQUARE.corners)
    assert assign([SQUARE, twin], [(1, 1), (4.5, 1)]) == {(1, 1): "a-twin", (4.5, 1): "a-twin"}


def test_reach():
    assert assign([SQUARE], [(4.5, 1), (6, 1)]) == {(4.5, 1): "square", (6, 1): None}
    assert assign([SQUARE], [(6, 1)], reach=2) == {(6, 1): "square"}


def test_no_zones_and_no_points():
    assert assign([], [(1, 1)]) == {(1, 1): None}
    assert assign([SQUARE], iter([])) == {}


def test_large_town():
    zones = [
        Zone(f"z{i}", [(i % 4 * 5 + dx, i // 4 * 5 + dy) for dx, dy in ((0, 0), (4, 0), (5, 3), (2, 5), (0, 4))], i % 2)
        for i in range(12)
    ]
    points = [(i * 17 % 211 / 10, i * 29 % 173 / 10) for i in range(30)]
    result = assign(zones, points, reach=0.5)
    assert Counter(result.values()) == {
        "z0": 4,
        "z4": 5,
        "z5": 1,
        "z9": 6,
        "z2": 3,
        "z6": 2,
        "z7": 2,
        "z11": 3,
        None: 3,
        "z1": 1,
    }
    assert result[points[20]] == "z6"
