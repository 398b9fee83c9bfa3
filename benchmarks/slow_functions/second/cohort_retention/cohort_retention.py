"""Retention by cohort, from an export of orders."""

from datetime import datetime


def parse(text):
    """Parse a day of the export."""
    return datetime.strptime(text, "%Y-%m-%d")


def month(text):
    """Return the month of a day, as 2024-03."""
    return parse(text).strftime("%Y-%m")


def months_between(first, second):
    """Return the number of months from one month to another."""
    year_a, month_a = first.split("-")
    year_b, month_b = second.split("-")
    return (int(year_b) - int(year_a)) * 12 + int(month_b) - int(month_a)


def first_month(rows, customer):
    """Return the month of a customer's first order."""
    return month(min([row["date"] for row in rows if row["customer"] == customer], key=parse))


def retention(rows, periods=6):
    """Return {cohort: [share of it that ordered in month 0, 1, ...]}.

    A cohort is all customers with their first order in one month. Refunded orders count as orders.
    """
    customers = list(set([row["customer"] for row in rows]))
    cohorts = sorted(set([first_month(rows, customer) for customer in customers]))

    table = {}
    for cohort in cohorts:
        members = [customer for customer in customers if first_month(rows, customer) == cohort]
        shares = []
        for period in range(periods):
            active = [
                row["customer"]
                for row in rows
                if row["customer"] in members and months_between(cohort, month(row["date"])) == period
            ]
            shares.append(round(len(set(active)) / len(members), 3))
        table[cohort] = shares
    return table


def to_text(table):
    """Return the table as lines of text."""
    return [cohort + " " + " ".join(f"{share:>6.1%}" for share in shares) for cohort, shares in table.items()]
