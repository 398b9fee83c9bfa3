from basket_pairs import items_of, rules, suggest, support

BASKETS = [["bread", "butter"], ["bread", "butter", "jam"], ["bread"], ["tea", "jam"], ["tea"]]


def test_items():
    assert items_of(BASKETS) == ["bread", "butter", "jam", "tea"]


def test_support():
    assert support(BASKETS, ["bread", "butter"]) == 0.4
    assert support(BASKETS, []) == 1.0


def test_rules():
    found = rules(BASKETS, 0.3)
    assert found == [("butter", "bread", 0.4, 1.0, 1.6667), ("bread", "butter", 0.4, 0.6667, 1.6667)]
    assert rules([]) == []


def test_suggest():
    assert suggest(BASKETS, ["bread"]) == ["butter", "jam"]
    assert suggest(BASKETS, ["salt"]) == []


def test_large_shop():
    baskets = [[f"i{(i * 3 + k * k * 5 + i // 7) % 17:02}" for k in range(2 + i % 4)] for i in range(44)]
    found = rules(baskets)
    assert len(found) == 63
    assert found[0] == ("i05", "i00", 0.0909, 0.6667, 3.2593)
    assert found[10] == ("i01", "i07", 0.0682, 0.375, 2.0625)
    assert suggest(baskets, ["i03", "i08"]) == ["i13", "i15", "i11"]
