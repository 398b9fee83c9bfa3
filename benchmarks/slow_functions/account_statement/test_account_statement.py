from decimal import Decimal

from account_statement import Entry, Line, lowest_balance, statement, to_money


def test_to_money_rounds_half_up():
    assert to_money("1.005") == Decimal("1.01")
    assert to_money(2.5) == Decimal("2.50")


def test_no_entries():
    assert statement([]) == []
    assert lowest_balance([], "3") == Decimal("3.00")


def test_running_balance_in_order_of_day():
    lines = statement([Entry(4, "-20", "shoes"), Entry(1, "100.10", "salary")], opening="10")
    assert lines == [
        Line(1, Decimal("100.10"), "salary", Decimal("110.10")),
        Line(4, Decimal("-20.00"), "shoes", Decimal("90.10")),
    ]


def test_entries_of_nothing_are_left_out():
    assert statement([Entry(1, "0.004", "rounding")]) == []


def test_fee_after_the_free_overdrafts():
    entries = [Entry(1, -5, "a"), Entry(2, 5, "b"), Entry(3, -5, "c"), Entry(31, 10, "d"), Entry(32, -6, "e")]
    lines = statement(entries, free_overdrafts=1)
    assert [(line.text, str(line.balance)) for line in lines] == [
        ("a", "-5.00"),
        ("b", "0.00"),
        ("c", "-5.00"),
        ("overdraft fee", "-10.00"),
        ("d", "0.00"),
        ("e", "-6.00"),
    ]


def test_no_second_fee_while_below_zero():
    lines = statement([Entry(1, -5, "a"), Entry(2, -5, "b")], free_overdrafts=0)
    assert [str(line.balance) for line in lines] == ["-5.00", "-10.00", "-15.00"]
    assert lowest_balance(lines) == Decimal("-15.00")


def test_large_statement():
    entries = [Entry(i // 2, Decimal(i * 7919 % 20011 - 10000) / 100, f"entry {i}") for i in range(42)]
    lines = statement(entries, opening="40", free_overdrafts=1)
    assert len(lines) == 45
    assert lines[-1].balance == Decimal("-27.61")
    assert lowest_balance(lines, "40") == Decimal("-84.97")
    assert lines[-1].balance == 40 + sum(line.amount for line in lines)
