import pytest
from nearest_stop import coverage, distance, nearest, stops_of_line

STOPS = [
    {"name": "Market", "at": (52.0, 13.0), "lines": "1,2"},
    {"name": "Castle", "at": (52.003, 13.0), "lines": "2"},
    {"name": "Lake", "at": (52.0, 13.05), "lines": "12"},
]


def test_distance():
    assert distance((52.0, 13.0), (52.0, 13.0)) == 0.0
    assert distance((0.0, 0.0), (0.0, 90.0)) == pytest.approx(10007543.4, abs=0.1)


def test_lines():
    assert [stop["name"] for stop in stops_of_line(STOPS, "2")] == ["Market", "Castle"]
    assert [stop["name"] for stop in stops_of_line(STOPS, "12")] == ["Lake"]


def test_nearest():
    assert nearest(STOPS, (52.002, 13.0), 2) == [(111, "Castle"), (222, "Market")]
    assert nearest(STOPS, (52.002, 13.0), 1, "1") == [(222, "Market")]


def test_coverage():
    rows = coverage(STOPS, [{"name": "A", "at": (52.001, 13.0)}, {"name": "B", "at": (52.1, 13.0)}])
    assert rows[0] == {"address": "A", "stop": "Market", "metres": 111, "lines": ["1", "2"], "served": True}
    assert (rows[1]["stop"], rows[1]["lines"], rows[1]["served"]) == ("Castle", [], False)


def test_large_town():
    stops = [
        {
            "name": f"s{i:02}",
            "at": (52.0 + i * 17 % 31 / 1500, 13.0 + i * 11 % 29 / 900),
            "lines": f"{i % 4},{i % 3 + 4}",
        }
        for i in range(26)
    ]
    addresses = [{"name": f"a{i}", "at": (52.0 + i * 0.0041, 13.0 + i * i % 7 * 0.0049)} for i in range(6)]
    rows = coverage(stops, addresses, 200)
    assert [row["stop"] for row in rows] == ["s00", "s24", "s17", "s14", "s14", "s20"]
    assert [row["metres"] for row in rows] == [0, 137, 392, 190, 267, 74]
    assert [row["served"] for row in rows] == [True, True, False, True, False, True]
    assert rows[3]["lines"] == ["1", "2", "5", "6"]
