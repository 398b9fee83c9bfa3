import pytest
from route_planner import Network


@pytest.fixture
def town():
    network = Network()
    network.connect("red", "A", 3, "B", 3, "C", 3, "D")
    network.connect("blue", "B", 1, "X", 1, "D")
    return network


def test_one_line(town):
    assert town.route("A", "C") == (6, ["A", "B", "C"], ["red"])
    assert town.route("C", "A") == (6, ["C", "B", "A"], ["red"])


def test_change_costs(town):
    assert town.route("A", "D", change=4) == (9, ["A", "B", "C", "D"], ["red"])
    assert town.route("A", "D", change=3) == (8, ["A", "B", "X", "D"], ["red", "blue"])


def test_already_there(town):
    assert town.route("A", "A") == (0, ["A"], [])


def test_closed_stations(town):
    town.close("C")
    assert town.route("A", "D") == (9, ["A", "B", "X", "D"], ["red", "blue"])
    town.close("X")
    assert town.route("A", "D") is None
    assert town.route("C", "A") is None


def test_equal_times_by_alphabet():
    network = Network()
    network.connect("z", "A", 1, "C", 1, "D")
    network.connect("y", "A", 1, "B", 1, "D")
    assert network.route("A", "D") == (2, ["A", "B", "D"], ["y"])


def test_unknown_station_and_bad_link(town):
    with pytest.raises(KeyError):
        town.route("A", "nowhere")
    with pytest.raises(ValueError, match="minute"):
        town.connect("green", "A", 0, "B")


def test_large_network():
    network = Network()
    for row in range(9):
        stops = []
        for column in range(9):
            stops += [f"s{row}{column}", (row * 5 + column * 3) % 7 + 1]
        network.connect(f"east{row}", *stops[:-1])
    for column in range(9):
        stops = []
        for row in range(9):
            stops += [f"s{row}{column}", (row * 2 + column * 5) % 6 + 1]
        network.connect(f"south{column}", *stops[:-1])
    network.close("s44")
    minutes, path, lines = network.route("s00", "s78", change=2)
    assert (minutes, path[-3:], lines) == (49, ["s76", "s77", "s78"], ["east0", "south2", "east6", "south5", "east7"])
