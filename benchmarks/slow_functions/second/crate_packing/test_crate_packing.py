from crate_packing import Item, best_value, describe, pack

ITEMS = [Item("lamp", 3, 8, 40), Item("books", 9, 4, 50), Item("radio", 4, 4, 45), Item("vase", 2, 5, 15)]


def test_best_value():
    assert best_value(ITEMS, 100, 100) == 150
    assert best_value(ITEMS, 1, 100) == 0
    assert best_value([], 5, 5) == 0


def test_pack():
    assert pack(ITEMS, 9, 17) == (100, ["lamp", "radio", "vase"])
    assert pack(ITEMS, 9, 12) == (85, ["lamp", "radio"])


def test_first_preferred():
    assert pack([Item("a", 1, 1, 5), Item("b", 1, 1, 5)], 1, 1) == (5, ["a"])


def test_describe():
    assert describe(ITEMS, ["lamp", "vase"]) == "2 items, 5 kg, 13 l"


def test_large_load():
    items = [Item(f"i{i}", 2 + i * 5 % 7, 1 + i * 3 % 8, 10 + i * 11 % 23) for i in range(15)]
    value, names = pack(items, 22, 24)
    assert value == 151
    assert names == ["i3", "i6", "i7", "i8", "i10", "i14"]
    assert describe(items, names) == "6 items, 21 kg, 22 l"
