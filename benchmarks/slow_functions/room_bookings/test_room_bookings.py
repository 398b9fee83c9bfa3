import random

import pytest
from room_bookings import busy_blocks, free_gaps


def test_empty_and_cancelled():
    assert busy_blocks([]) == []
    assert busy_blocks([(1, 5, None)]) == []


def test_touching_bookings_are_one_block():
    assert busy_blocks([(60, 90, "b"), (0, 60, "a")]) == [(0, 90, ["a", "b"])]


def test_setup_joins_and_never_goes_below_zero():
    bookings = [(5, 20, "a"), (30, 40, "b")]
    assert busy_blocks(bookings) == [(5, 20, ["a"]), (30, 40, ["b"])]
    assert busy_blocks(bookings, setup=10) == [(0, 40, ["a", "b"])]


def test_parties_once():
    assert busy_blocks([(0, 10, "z"), (2, 3, "a"), (10, 12, "z")]) == [(0, 12, ["a", "z"])]


def test_a_late_booking_bridges_two_blocks():
    assert busy_blocks([(0, 10, "a"), (20, 30, "b"), (9, 21, "c")]) == [(0, 30, ["a", "b", "c"])]


def test_end_before_start():
    with pytest.raises(ValueError, match="booking of x"):
        busy_blocks([(5, 4, "x")])


def test_gaps():
    assert free_gaps([(60, 90, "a"), (100, 200, "b")], 0, 240, at_least=20) == [(0, 60), (200, 240)]


def test_large_day():
    source = random.Random(5)
    bookings = []
    for i in range(130):
        start = source.randrange(0, 5000)
        bookings.append((start, start + source.randrange(5, 60), None if i % 13 == 0 else f"party{i % 9}"))
    blocks = busy_blocks(bookings, setup=3)
    assert blocks[:3] == [
        (24, 70, ["party3", "party8"]),
        (71, 129, ["party0", "party7"]),
        (265, 334, ["party0", "party2", "party3"]),
    ]
    assert (len(blocks), sum(end - start for start, end, _ in blocks), sum(len(p) for _, _, p in blocks)) == (
        50,
        2730,
        104,
    )
    assert all(a[1] < b[0] for a, b in zip(blocks, blocks[1:]))
