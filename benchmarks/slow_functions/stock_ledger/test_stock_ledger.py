import random

import pytest
from stock_ledger import Count, Difference, Movement, StockLedger


def test_nothing_booked_and_nothing_counted():
    assert StockLedger().reconcile([]) == []


def test_agreement_is_not_reported():
    ledger = StockLedger([Movement("bolt", "A1", 10), Movement("bolt", "A1", -3)])
    assert ledger.reconcile([Count("bolt", "A1", 7)]) == []


def test_missing_count_is_zero():
    ledger = StockLedger([Movement("bolt", "A1", 10)])
    assert ledger.reconcile([]) == [Difference("bolt", 10, 0, ["A1"])]


def test_unbooked_article():
    assert StockLedger().reconcile([Count("nut", "B2", 4), Count("nut", "B1", 1)]) == [
        Difference("nut", 0, 5, ["B1", "B2"])
    ]


def test_tolerance_is_over_all_bins():
    ledger = StockLedger([Movement("bolt", "A1", 10), Movement("bolt", "A2", 10)])
    counts = [Count("bolt", "A1", 5), Count("bolt", "A2", 16)]
    assert ledger.reconcile(counts, tolerance=1) == []
    assert ledger.reconcile(counts) == [Difference("bolt", 20, 21, ["A1", "A2"])]


def test_cancelled_movements_do_not_count():
    ledger = StockLedger([Movement("bolt", "A1", 10), Movement("nut", "A1", 2)])
    assert ledger.cancel("bolt", "A1") == 1
    assert ledger.cancel("bolt", "A1") == 0
    assert ledger.reconcile([Count("nut", "A1", 2)]) == []
    ledger.book(Movement("bolt", "A1", 3))
    assert ledger.reconcile([Count("nut", "A1", 2)]) == [Difference("bolt", 3, 0, ["A1"])]


def test_empty_movement_is_refused():
    with pytest.raises(ValueError, match="nothing"):
        StockLedger().book(Movement("bolt", "A1", 0))


def test_large_warehouse():
    source = random.Random(3)
    movements = [
        Movement(
            f"sku{source.randrange(30)}", f"bin{source.randrange(4)}", source.choice([-2, 3, 5]), source.random() < 0.1
        )
        for _ in range(700)
    ]
    counts = [
        Count(f"sku{source.randrange(35)}", f"bin{source.randrange(4)}", source.randrange(60)) for _ in range(150)
    ]
    result = StockLedger(movements).reconcile(counts, tolerance=5)
    assert [d.sku for d in result[:4]] == ["sku15", "sku20", "sku7", "sku16"]
    assert (
        len(result),
        sum(d.expected for d in result),
        sum(d.counted for d in result),
        sum(len(d.bins) for d in result),
        sum(abs(d.delta) * i for i, d in enumerate(result)),
    ) == (34, 1183, 4566, 127, 34971)
    assert all(abs(d.delta) > 5 for d in result)
