import pytest

from library.loans import overdue, returning_readers


def readers(first: int, last: int) -> list[str]:
    return [f"reader {number}" for number in range(first, last)]


@pytest.mark.parametrize("count", [80, 120, 200])
def test_only_readers_of_both_years_return(count: int) -> None:
    assert returning_readers(readers(0, count), readers(count // 2, 2 * count)) == readers(count // 2, count)


def test_this_years_order_is_kept() -> None:
    assert returning_readers(readers(0, 100)[::-1], readers(40, 150)) == readers(40, 100)[::-1]


def test_a_book_is_overdue_after_four_weeks() -> None:
    assert overdue([("Emma", 0), ("Ulysses", 5)], today=30) == ["Emma"]
