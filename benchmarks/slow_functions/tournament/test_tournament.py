import pytest
from tournament import Tournament


def played(*matches):
    tournament = Tournament()
    for match in matches:
        tournament.record(*match)
    return tournament


def test_empty():
    assert Tournament().table() == []


def test_points():
    assert played(("a", "b", 1, 0), ("b", "c", 2, 2)).table() == [(1, "a", 3), (2, "c", 1), (3, "b", 1)]


def test_direct_match_comes_before_goal_difference():
    tournament = played(("c", "b", 1, 0), ("b", "x", 9, 0))
    assert tournament.table() == [(1, "c", 3), (2, "b", 3), (3, "x", 0)]


def test_goals_break_the_tie():
    assert played(("a", "x", 2, 1), ("b", "y", 3, 2)).table()[:2] == [(1, "b", 3), (2, "a", 3)]


def test_shared_rank_skips_the_next():
    tournament = played(("b", "x", 1, 0), ("a", "y", 1, 0), ("c", "z", 0, 0))
    assert tournament.table() == [(1, "a", 3), (1, "b", 3), (3, "c", 1), (3, "z", 1), (5, "x", 0), (5, "y", 0)]


def test_team_against_itself():
    with pytest.raises(ValueError, match="itself"):
        played(("a", "a", 1, 0))


def test_large_season():
    tournament = Tournament()
    names = ["team%02d" % i for i in range(26)]
    for i, home in enumerate(names):
        for j, away in enumerate(names):
            if i < j:
                tournament.record(home, away, (i * 5 + j * 3) % 4, (i * 7 + j) % 4)
    table = tournament.table()
    assert table[:4] == [(1, "team03", 33), (1, "team07", 33), (1, "team11", 33), (1, "team15", 33)]
    assert table[-1] == (21, "team22", 30)
    assert [rank for rank, _, _ in table] == sorted(rank for rank, _, _ in table)
