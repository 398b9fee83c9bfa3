"""Bank statements: running balance, fees and interest in cents."""

from collections import namedtuple
from decimal import ROUND_HALF_UP, Decimal

Entry = namedtuple("Entry", "day amount text")
Line = namedtuple("Line", "day amount text balance")

CENT = Decimal("0.01")


def to_money(value):
    return Decimal(str(value)).quantize(CENT, rounding=ROUND_HALF_UP)


def statement(entries, opening="0.00", overdraft_fee="5.00", free_overdrafts=2):
    """Return the lines of a statement, in order of day, with the balance after each.

    Whenever an entry takes the balance from zero or above to below zero, a fee is booked right after it, on the same
    day; the first `free_overdrafts` times of each month (30 days) cost nothing. Entries of nothing are left out.
    """
    booked = []
    lines = []
    overdrafts = []
    for entry in sorted(entries, key=lambda entry: entry.day):
        amount = to_money(entry.amount)
        if amount == 0:
            continue
        before = to_money(opening)
        for earlier in booked:
            before = to_money(before + to_money(earlier.amount))
        booked.append(entry)
        after = to_money(opening)
        for earlier in booked:
            after = to_money(after + to_money(earlier.amount))
        lines.append(Line(entry.day, amount, entry.text, after))
        if after < 0 <= before:
            month = entry.day // 30
            overdrafts.append(month)
            if overdrafts.count(month) > free_overdrafts:
                fee = Entry(entry.day, -to_money(overdraft_fee), "overdraft fee")
                booked.append(fee)
                lines.append(Line(fee.day, fee.amount, fee.text, to_money(after + fee.amount)))
    return lines


def lowest_balance(lines, opening="0.00"):
    return min([to_money(opening)] + [line.balance for line in lines])
