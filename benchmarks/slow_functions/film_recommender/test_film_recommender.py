import pytest
from film_recommender import recommend, similarity

RATINGS = {
    "ann": {"alien": 5, "brazil": 1, "clue": 3},
    "bob": {"alien": 4, "brazil": 2, "duel": 5, "eraser": 1},
    "cas": {"alien": 1, "brazil": 5, "duel": 1},
    "dot": {"fargo": 5},
}


def test_similarity():
    assert similarity(RATINGS["ann"], RATINGS["ann"]) == pytest.approx(1.0)
    assert similarity(RATINGS["ann"], RATINGS["bob"]) > 0
    assert similarity(RATINGS["ann"], RATINGS["cas"]) < 0
    assert similarity(RATINGS["ann"], RATINGS["dot"]) == 0.0
    assert similarity({"a": 2, "b": 2}, {"a": 1, "b": 3}) == 0.0


def test_recommend_follows_similar_viewers():
    assert recommend(RATINGS, "ann") == [("duel", 5.0), ("eraser", 1.0)]


def test_top():
    assert recommend(RATINGS, "ann", top=1) == [("duel", 5.0)]
    assert recommend(RATINGS, "ann", top=0) == []


def test_viewer_without_neighbours():
    assert recommend(RATINGS, "dot") == []


def test_unknown_viewer():
    with pytest.raises(KeyError):
        recommend(RATINGS, "zoe")


def test_large_audience():
    ratings = {
        f"viewer{v:02d}": {f"film{f:02d}": (v * f + f * 3 + v) % 5 + 1 for f in range(60) if (v * 7 + f * 5) % 6 < 3}
        for v in range(40)
    }
    assert recommend(ratings, "viewer03", top=4, neighbours=5) == [
        ("film06", 5.0),
        ("film11", 5.0),
        ("film16", 5.0),
        ("film36", 5.0),
    ]
