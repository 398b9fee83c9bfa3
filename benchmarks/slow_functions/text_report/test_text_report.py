import hashlib

import pytest
from text_report import build_report


def test_alignment():
    assert build_report(["name", "n"], [["bolt", 7], ["nut", 12]]) == "name  n \n--------\nbolt   7\nnut   12\n"


def test_no_rows():
    assert build_report(["a", "b"], []) == "a  b\n----\n"
    assert build_report(["a", "b"], [], group_by=0) == "a  b\n----\n"


def test_floats_and_missing_cells():
    assert build_report(["a", "b"], [[1.5, None], [None, "x"]]).splitlines()[2:] == ["1.50", "      x"]


def test_wrapping():
    report = build_report(["text", "n"], [["one two three", 1]], limit=7)
    assert report.splitlines()[2:] == ["one two  1", "three"]


def test_groups():
    rows = [["a", 1, "x"], ["a", 2, "y"], ["b", 5, None]]
    assert build_report(["g", "n", "t"], rows, group_by=0).splitlines()[2:] == [
        "a  1  x",
        "a  2  y",
        "t  3",
        "o",
        "t",
        "a",
        "l",
        "",
        "b  5",
        "t  5",
        "o",
        "t",
        "a",
        "l",
    ]


def test_wrong_number_of_cells():
    with pytest.raises(ValueError, match="row 1 has 1 cells, not 2"):
        build_report(["a", "b"], [[1, 2], [3]])


def test_large_report():
    rows = [
        [
            f"group {i // 9}",
            f"article number {i * 7919 % 1000} of the list",
            i * 13 % 101,
            i * 0.5,
            None if i % 5 else "ok",
        ]
        for i in range(40)
    ]
    report = build_report(["group", "article", "pieces", "price", "state"], rows, group_by=0)
    assert report.count("total") == 5
    assert len(report) == 3035
    assert hashlib.sha256(report.encode()).hexdigest()[:16] == "46c0ef2103422a1d"
