from cohort_retention import month, months_between, retention, to_text

ROWS = [
    {"customer": "a", "date": "2023-12-30"},
    {"customer": "b", "date": "2024-01-02"},
    {"customer": "a", "date": "2024-01-15"},
    {"customer": "c", "date": "2023-12-01"},
    {"customer": "b", "date": "2024-01-31"},
    {"customer": "b", "date": "2024-03-05"},
]


def test_months():
    assert month("2024-02-29") == "2024-02"
    assert months_between("2023-11", "2024-02") == 3


def test_retention():
    assert retention(ROWS, 3) == {"2023-12": [1.0, 0.5, 0.0], "2024-01": [1.0, 0.0, 1.0]}
    assert list(retention(ROWS)) == ["2023-12", "2024-01"]


def test_no_rows():
    assert retention([]) == {}


def test_to_text():
    assert to_text({"2024-01": [1.0, 0.125]}) == ["2024-01 100.0%  12.5%"]


def test_large_export():
    rows = [
        {"customer": f"c{i * 7 % 19}", "date": f"2024-{1 + (i * 5 + i * i // 9) % 6:02}-{1 + i * 11 % 28:02}"}
        for i in range(110)
    ]
    table = retention(rows, 4)
    assert list(table) == ["2024-01", "2024-02"]
    assert table["2024-01"] == [1.0, 0.467, 0.333, 0.8]
    assert table["2024-02"] == [1.0, 0.5, 0.75, 1.0]
