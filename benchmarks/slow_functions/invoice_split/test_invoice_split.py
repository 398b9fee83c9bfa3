import pytest
from invoice_split import Expense, Payment, balance_of, portions, settle

TRIO = {"ann": 1, "bob": 1, "cas": 1}


def test_portions():
    assert portions(100, TRIO) == {"ann": 34, "bob": 33, "cas": 33}
    assert portions(101, {"ann": 0, "bob": 2, "cas": 1}) == {"ann": 0, "bob": 68, "cas": 33}
    with pytest.raises(ValueError, match="nobody"):
        portions(1, {"ann": 0})


def test_balance():
    assert balance_of("ann", [Expense("ann", 300, TRIO)]) == 200
    assert balance_of("zoe", [Expense("ann", 300, TRIO)]) == 0


def test_nothing_to_settle():
    assert settle([]) == []
    assert settle([Expense("ann", 500, {"ann": 1})]) == []


def test_who_owes_most_pays_first():
    expenses = [Expense("ann", 900, TRIO), Expense("bob", 90, {"cas": 1})]
    assert settle(expenses) == [Payment("cas", "ann", 390), Payment("bob", "ann", 210)]


def test_names_decide_among_equals():
    assert settle([Expense("zoe", 300, TRIO)]) == [
        Payment("ann", "zoe", 100),
        Payment("bob", "zoe", 100),
        Payment("cas", "zoe", 100),
    ]


def test_small_payments_are_left_out():
    expenses = [Expense("ann", 1000, {"bob": 99, "cas": 1})]
    assert settle(expenses, ignore_below=11) == [Payment("bob", "ann", 990)]


def test_nobody_takes_part():
    with pytest.raises(ValueError, match="nobody"):
        settle([Expense("ann", 1000, {"bob": 0})])


def test_large_holiday():
    people = [f"p{i}" for i in range(9)]
    expenses = [
        Expense(people[i * 5 % 9], i * 977 % 5003 + 50, {p: (i + j) % 3 for j, p in enumerate(people)})
        for i in range(15)
    ]
    payments = settle(expenses, ignore_below=20)
    assert payments[:2] == [
        Payment(debtor="p3", creditor="p7", cents=3876),
        Payment(debtor="p8", creditor="p2", cents=1822),
    ]
    assert (len(payments), sum(p.cents for p in payments)) == (8, 9513)
