import pytest
from lot_picker import Lot, OutOfStock, Warehouse


@pytest.fixture
def warehouse():
    return Warehouse(
        [
            Lot("L1", "milk", 4, "2024-05-09"),
            Lot("L2", "milk", 3, "2024-05-02"),
            Lot("L3", "rice", 9, "2025-01-01"),
            Lot("L4", "milk", 50, "2024-04-01", blocked=True),
        ]
    )


def test_available(warehouse):
    assert warehouse.available("milk") == 7
    assert warehouse.available("salt") == 0


def test_first_expired_first_out(warehouse):
    picked = warehouse.pick([("milk", 5), ("rice", 2), ("milk", 1)])
    assert picked == {"L2": 3, "L1": 3, "L3": 2}
    assert list(picked) == ["L2", "L1", "L3"]
    assert [lot.quantity for lot in warehouse.lots] == [1, 0, 7, 50]


def test_all_or_nothing(warehouse):
    with pytest.raises(OutOfStock, match="rice"):
        warehouse.pick([("milk", 7), ("rice", 10)])
    assert [lot.quantity for lot in warehouse.lots] == [4, 3, 9, 50]


def test_large_order():
    lots = [
        Lot(f"L{i:02}", f"a{i % 6}", 3 + i * 5 % 11, f"2024-{1 + i * 7 % 12:02}-{1 + i % 28:02}", i % 13 == 0)
        for i in range(132)
    ]
    warehouse = Warehouse(lots)
    picked = warehouse.pick([("a1", 40), ("a3", 55), ("a0", 20), ("a1", 15)])
    assert sum(picked.values()) == 130
    assert list(picked.items())[:5] == [("L115", 6), ("L31", 4), ("L07", 5), ("L67", 8), ("L127", 11)]
    assert list(picked.items())[-1] == ("L103", 12)
    assert [warehouse.available(f"a{i}") for i in range(6)] == [145, 101, 158, 105, 162, 167]
