from order_validation import SCHEMA, validate, with_articles

GOOD = {"order": "AB-0001", "customer": "12345", "article": "bolt", "pieces": " 7 ", "price": "1.5", "note": ""}


def test_good_row():
    good, problems = validate([GOOD], ["bolt"])
    assert good == [{"order": "AB-0001", "customer": "12345", "article": "bolt", "pieces": 7, "price": 1.5}]
    assert problems == []


def test_nothing():
    assert validate([], []) == ([], [])


def test_missing_and_unknown_columns():
    good, problems = validate([{"order": "AB-0001", "colour": "red", "_source": "x"}], ["bolt"])
    assert good == []
    assert problems == [
        (1, "colour", "unknown column"),
        (1, "customer", "missing"),
        (1, "article", "missing"),
        (1, "pieces", "missing"),
    ]


def test_values():
    rows = [
        {**GOOD, "order": "x"},
        {**GOOD, "order": "AB-0002", "article": "gold"},
        {**GOOD, "order": "AB-0003", "pieces": "many"},
        {**GOOD, "order": "AB-0004", "pieces": "0", "price": "-1"},
        {**GOOD, "order": "AB-0005", "pieces": "501", "note": "<b>"},
    ]
    assert validate(rows, ["bolt"])[1] == [
        (1, "order", "malformed"),
        (2, "article", "not allowed"),
        (3, "pieces", "not a number"),
        (4, "pieces", "too small"),
        (4, "price", "too small"),
        (5, "pieces", "too large"),
        (5, "note", "malformed"),
    ]


def test_unique_also_when_the_first_row_is_bad():
    rows = [{**GOOD, "pieces": "0"}, {**GOOD, "order": " AB-0001 "}, GOOD]
    assert validate(rows, ["bolt"])[1] == [
        (1, "pieces", "too small"),
        (2, "order", "appears twice"),
        (3, "order", "appears twice"),
    ]


def test_schema_is_left_alone():
    assert with_articles(SCHEMA, ["a"])["article"]["values"] == ["a"]
    assert SCHEMA["article"]["values"] == []


def test_large_import():
    articles = [f"article{i}" for i in range(60)]
    rows = [
        {
            **GOOD,
            "order": f"AB-{i * 7 % 113:04d}",
            "article": f"article{i * 11 % 64}",
            "pieces": str(i * 13 % 520),
            "note": "" if i % 3 else f"note <{i}",
        }
        for i in range(140)
    ]
    good, problems = validate(rows, articles)
    assert (len(good), len(problems), sum(row["pieces"] for row in good)) == (68, 89, 16354)
    assert problems[-1] == (140, "order", "appears twice")
