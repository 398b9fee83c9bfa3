from datetime import date

from shift_rota import Rota


def test_nobody_works_twice_a_day():
    rows = Rota(["ann", "bea"]).fill("2024-05-01", 1)
    assert rows == [
        ("2024-05-01", "early", "ann"),
        ("2024-05-01", "late", "bea"),
        ("2024-05-01", "night", None),
    ]


def test_after_a_night():
    rota = Rota(["ann", "bea", "cat", "dan"])
    rota.fill("2024-05-02", 2)
    assert [name for _, _, name in rota.rows] == ["ann", "bea", "cat", "dan", "ann", "bea"]
    assert rota.load("bea") == 18
    assert rota.weekend_load("ann") == 0


def test_days_off():
    rota = Rota(["ann", "bea"], [("ann", "2024-05-01")])
    assert rota.candidates(date(2024, 5, 1)) == ["bea"]
    assert rota.candidates(date(2024, 5, 2)) == ["ann", "bea"]


def test_large_rota():
    staff = ["ann", "bea", "cat", "dan", "eli", "fay", "gus"]
    off = [(staff[i * 3 % 7], f"2024-06-{1 + i * 5 % 28:02}") for i in range(24)]
    rota = Rota(staff, off)
    rows = rota.fill("2024-06-01", 28)
    assert len(rows) == 84
    assert [name for _, _, name in rows[:9]] == ["bea", "cat", "dan", "ann", "eli", "fay", "gus", "ann", "bea"]
    assert [name for _, _, name in rows[-6:]] == ["bea", "eli", "gus", "ann", "dan", "bea"]
    assert [rota.load(name) for name in staff] == [104, 112, 102, 106, 102, 98, 104]
    assert [rota.weekend_load(name) for name in staff] == [4, 3, 3, 3, 4, 4, 3]
