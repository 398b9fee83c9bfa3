import pytest
from sales_pivot import pivot, read_rows, to_number

TEXT = """region;month;amount
north;01;1.000,50
north;02;10
south;01;n/a

south;01;2,25
north;01;0,50
"""


def test_read_rows():
    rows = read_rows(TEXT)
    assert len(rows) == 5
    assert rows[0] == {"region": "north", "month": "01", "amount": "1.000,50"}
    assert read_rows("\n") == []
    with pytest.raises(ValueError, match="line 2 has 1 cells, not 2"):
        read_rows("a;b\n1")


def test_to_number():
    assert to_number(" 1.234,5 ") == 1234.5
    assert to_number("N/A") is None


def test_sum():
    assert pivot(read_rows(TEXT), "region", "month", "amount") == [
        ["region", "01", "02", "total"],
        ["north", 1001.0, 10.0, 1011.0],
        ["south", 2.25, None, 2.25],
        ["total", 1003.25, 10.0, 1013.25],
    ]


def test_mean_and_count_leave_out_missing_values():
    rows = read_rows(TEXT)
    assert pivot(rows, "region", "month", "amount", "count")[1:] == [
        ["north", 2, 1, 3],
        ["south", 1, None, 1],
        ["total", 3, 1, 4],
    ]
    assert pivot(rows, "month", "region", "amount", "mean")[1] == ["01", 500.5, 2.25, 334.42]


def test_no_rows():
    assert pivot([], "a", "b", "c") == [["a", "total"], ["total", None]]


def test_unknown_aggregate():
    with pytest.raises(ValueError, match="median"):
        pivot([], "a", "b", "c", "median")


def test_large_table():
    rows = [
        {
            "shop": "s%02d" % (i * 7 % 25),
            "week": "w%02d" % (i * i % 23),
            "amount": "-" if i % 17 == 0 else "%d,%02d" % (i * 31 % 997, i % 4 * 25),
        }
        for i in range(400)
    ]
    table = pivot(rows, "shop", "week", "amount")
    assert len(table) == 27
    assert len(table[0]) == 14
    assert table[3] == [
        "s02",
        6.25,
        None,
        2.5,
        224.25,
        781.5,
        1010.5,
        1009.5,
        None,
        446.0,
        1009.5,
        1010.5,
        1009.5,
        6510.0,
    ]
    assert table[-1][-1] == sum(line[-1] for line in table[1:-1]) == 183942.0
    assert pivot(rows, "week", "shop", "amount", "count")[-1][-1] == 376
