"""Who borrows what, as a small lending library keeps it."""

from __future__ import annotations


def returning_readers(this_year: list[str], last_year: list[str]) -> list[str]:
    """Readers who borrowed something in both years, in the order of this year."""
    returning = []
    for reader in this_year:
        if reader in last_year:
            returning.append(reader)
    return returning


def overdue(loans: list[tuple[str, int]], today: int, days: int = 28) -> list[str]:
    """Titles of books that were lent more than `days` days ago."""
    return [title for title, lent in loans if today - lent > days]
