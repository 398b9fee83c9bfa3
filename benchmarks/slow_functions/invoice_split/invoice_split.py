"""Split shared costs of a group fairly, to the cent, and settle them with few payments."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Expense:
    payer: str
    cents: int
    shares: dict[str, int]  # person -> weight


@dataclass(frozen=True)
class Payment:
    debtor: str
    creditor: str
    cents: int


def portions(cents: int, shares: dict[str, int]) -> dict[str, int]:
    """Divide an amount by weights; the cents that are left over go to the first names of the alphabet."""
    total = sum(shares.values())
    if total <= 0:
        raise ValueError("nobody takes part")
    result = {person: cents * weight // total for person, weight in shares.items()}
    left = cents - sum(result.values())
    for person in sorted(person for person, weight in shares.items() if weight > 0)[:left]:
        result[person] += 1
    return result


def balance_of(person: str, expenses: list[Expense]) -> int:
    """Return what a person has paid less what was spent on them."""
    balance = 0
    for expense in expenses:
        if expense.payer == person:
            balance += expense.cents
        balance -= portions(expense.cents, expense.shares).get(person, 0)
    return balance


def settle(expenses: list[Expense], ignore_below: int = 0) -> list[Payment]:
    """Return the payments that even the group out.

    The person who owes most pays the one who is owed most, by name among equals, until all are even. Payments of
    less than `ignore_below` cents are left out, as if they had been made.
    """
    people: set[str] = set()
    for expense in expenses:
        people |= {expense.payer} | set(expense.shares)

    payments: list[Payment] = []
    skipped: list[Payment] = []
    while True:
        balances: dict[str, int] = {}
        for person in sorted(people):
            balances[person] = balance_of(person, expenses)
            for payment in payments + skipped:
                if payment.debtor == person:
                    balances[person] += payment.cents
                if payment.creditor == person:
                    balances[person] -= payment.cents
        debtors = sorted((p for p in balances if balances[p] < 0), key=lambda p: (balances[p], p))
        creditors = sorted((p for p in balances if balances[p] > 0), key=lambda p: (-balances[p], p))
        if not debtors or not creditors:
            return payments
        cents = min(-balances[debtors[0]], balances[creditors[0]])
        payment = Payment(debtors[0], creditors[0], cents)
        if cents < ignore_below:
            skipped.append(payment)
        else:
            payments.append(payment)
