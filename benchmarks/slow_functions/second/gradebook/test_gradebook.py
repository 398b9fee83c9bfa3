import pytest
from gradebook import average, class_report, letter


@pytest.mark.parametrize(("score", "expected"), [(100, "A"), (90, "A"), (89.9, "B"), (60, "C"), (12, "F")])
def test_letter(score, expected):
    assert letter(score) == expected


def test_average_of_nothing():
    assert average([]) == 0
    assert class_report([]) == []


def test_places_are_shared():
    marks = [
        ("Zoe", "maths", 80),
        ("Adam", "maths", 90),
        ("Zoe", "art", 100),
        ("Adam", "art", 90),
        ("Kim", "maths", 61),
    ]
    assert class_report(marks) == [(1, "Adam", 90.0, "A"), (1, "Zoe", 90.0, "A"), (3, "Kim", 61.0, "C")]


def test_large_class():
    marks = []
    for subject in range(4):
        for number in range(24):
            marks.append((f"s{number:02}", f"subject {subject}", 40 + (number * 37 + subject * 11) % 61))
    report = class_report(marks)
    assert len(report) == 24
    assert report[0] == (1, "s04", 82.5, "B")
    assert report[11] == (12, "s16", 69.0, "C")
    assert report[-1] == (24, "s00", 56.5, "F")
    assert [row[3] for row in report].count("C") == 18
