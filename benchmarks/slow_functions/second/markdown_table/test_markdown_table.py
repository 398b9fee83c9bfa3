from markdown_table import clean, is_number, to_markdown


def test_clean():
    assert clean("  a\n b | c ") == "a b \\| c"
    assert clean(3.5) == "3.5"


def test_is_number():
    assert is_number("1,200.50")
    assert is_number(-3)
    assert not is_number("3 kg")


def test_table():
    assert to_markdown(["name", "price"], [["tea", 3], ["long coffee", 12.5], ["nothing"]]) == (
        "| name        | price |\n"
        "|-------------|------:|\n"
        "| tea         |     3 |\n"
        "| long coffee |  12.5 |\n"
        "| nothing     |       |\n"
    )


def test_no_rows():
    assert to_markdown(["a"], []) == "| a   |\n|-----|\n"


def test_large_table():
    rows = [
        [f"item {i * 37 % 101}", i * 7919 % 1000 / 4, f"{i % 100}%", "x|y" * (i % 4)][: 4 - i % 9 // 8]
        for i in range(36)
    ]
    lines = to_markdown(["what", "price", "share", "note"], rows).splitlines()
    assert len(lines) == 38
    assert {len(line) for line in lines} == {44}
    assert lines[1] == "|----------|-------:|------:|--------------|"
    assert lines[10] == "| item 94  |   88.0 |    8% |              |"
    assert lines[-1] == "| item 83  |  41.25 |   35% |              |"
