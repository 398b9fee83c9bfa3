from datetime import date

import pytest
from work_calendar import WorkCalendar, parse_span

MONDAY = date(2024, 4, 29)


def test_parse_span():
    assert parse_span("2024-05-01") == (date(2024, 5, 1), date(2024, 5, 1))
    assert parse_span("2024-05-01 .. 2024-05-03") == (date(2024, 5, 1), date(2024, 5, 3))
    with pytest.raises(ValueError, match="before the start"):
        parse_span("2024-05-03..2024-05-01")


def test_working_days():
    calendar = WorkCalendar(["2024-05-01"], extra=["2024-05-04"])
    assert calendar.is_working(date(2024, 4, 30))
    assert not calendar.is_working(date(2024, 5, 1))
    assert calendar.is_working(date(2024, 5, 4))
    assert not calendar.is_working(date(2024, 5, 5))


def test_jobs_follow_each_other():
    calendar = WorkCalendar(["2024-05-01..2024-05-02"])
    assert calendar.schedule(MONDAY, [("cut", 2), ("weld", 2)]) == [
        ("cut", date(2024, 4, 29), date(2024, 4, 30)),
        ("weld", date(2024, 5, 3), date(2024, 5, 6)),
    ]


def test_start_on_a_weekend_and_milestone():
    calendar = WorkCalendar([])
    assert calendar.schedule(date(2024, 4, 27), [("kick-off", 0), ("cut", 1), ("done", 0)]) == [
        ("kick-off", MONDAY, MONDAY),
        ("cut", MONDAY, MONDAY),
        ("done", date(2024, 4, 30), date(2024, 4, 30)),
    ]


def test_buffer():
    plan = WorkCalendar([]).schedule(MONDAY, [("a", 1), ("b", 1), ("c", 3)], buffer=1)
    assert [first.day for _, first, _ in plan] == [29, 1, 3]
    assert plan[-1][2] == date(2024, 5, 7)


def test_negative_length():
    with pytest.raises(ValueError, match="paint: a job of -1 days"):
        WorkCalendar([]).schedule(MONDAY, [("paint", -1)])
    assert WorkCalendar([]).schedule(MONDAY, []) == []


def test_large_plan():
    calendar = WorkCalendar(["2024-05-09", "2024-05-20..2024-05-21"], extra=["2024-05-11"])
    jobs = [(f"job{i}", i % 3) for i in range(14)]
    plan = calendar.schedule(MONDAY, jobs, buffer=1)
    assert [first.isoformat()[5:] for _, first, _ in plan] == [
        "04-29",
        "04-29",
        "05-01",
        "05-06",
        "05-06",
        "05-08",
        "05-13",
        "05-13",
        "05-15",
        "05-22",
        "05-22",
        "05-24",
        "05-29",
        "05-29",
    ]
    assert plan[-1][2] == date(2024, 5, 29)
