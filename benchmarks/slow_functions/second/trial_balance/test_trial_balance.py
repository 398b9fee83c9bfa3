from decimal import Decimal

from trial_balance import Journal, amount, cents

ENTRIES = [
    ("2024-01-03", "4000:sales:web", "", "1,250.00"),
    ("2024-01-03", "1000:bank", "1,250.00", ""),
    ("2024-01-09", "4000:sales:shop", "", "80.505"),
    ("2024-01-09", "1000:bank", "80.505", ""),
    ("2024-02-01", "4000:sales:shop", "", "(35.10)"),
    ("2024-02-01", "1000:bank", "(35.10)", ""),
]


def test_amount():
    assert amount(" 12,345.60 ") == Decimal("12345.60")
    assert amount("(3.5)") == Decimal("-3.5")
    assert amount("") == 0
    assert str(cents(Decimal("2.005"))) == "2.01"


def test_accounts():
    assert Journal(ENTRIES).accounts() == [
        "1000",
        "1000:bank",
        "4000",
        "4000:sales",
        "4000:sales:shop",
        "4000:sales:web",
    ]


def test_balance():
    rows = Journal(ENTRIES).trial_balance("2024-01-31")
    assert rows[0] == ("1000", Decimal("1330.51"), Decimal("0.00"))
    assert rows[-2] == ("4000:sales:shop", Decimal("0.00"), Decimal("80.51"))
    assert len(rows) == 6


def test_balanced_accounts_are_left_out():
    entries = [("2024-01-01", "1", "5", ""), ("2024-01-02", "1", "", "5"), ("2024-01-02", "2", "1", "")]
    assert Journal(entries).trial_balance() == [("2", Decimal("1.00"), Decimal("0.00"))]


def test_large_journal():
    entries = []
    for i in range(110):
        account = f"{1 + i % 4}000:group{i % 5}:part{i % 2}"
        entries.append(
            (f"2024-{1 + i % 12:02}-15", account, f"1,{100 + i * 7 % 900}.{i % 90 + 10}", f"{i * 41 % 3000}.5")
        )
    rows = Journal(entries).trial_balance("2024-10-31")
    assert len(rows) == 44
    assert rows[0] == ("1000", Decimal("6391.42"), Decimal("0.00"))
    assert rows[7] == ("1000:group3", Decimal("768.18"), Decimal("0.00"))
    assert rows[-1] == ("4000:group4:part1", Decimal("2375.86"), Decimal("0.00"))
