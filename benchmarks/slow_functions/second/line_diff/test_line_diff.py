from line_diff import diff, lcs_table, summary


def test_table():
    assert lcs_table("ab", "b") == [[1, 0], [1, 0], [0, 0]]


def test_change():
    assert diff(["a", "b", "c"], ["a", "x", "c", "d"]) == ["  a", "- b", "+ x", "  c", "+ d"]


def test_edges():
    assert diff([], ["a"]) == ["+ a"]
    assert diff(["a"], []) == ["- a"]
    assert diff(["a", "a"], ["a", "a"]) == ["  a", "  a"]


def test_summary():
    assert summary(["+ a", "  b", "- c", "+ d"]) == "+2 -1"


def test_large_texts():
    old = [f"line {i * i % 47}" for i in range(150)]
    new = [f"line {(i * i + i // 20) % 47}" for i in range(140)]
    lines = diff(old, new)
    assert summary(lines) == "+96 -106"
    assert lines[20:26] == ["- line 24", "- line 18", "- line 14", "- line 12", "- line 12", "- line 14"]
    assert [line[2:] for line in lines if not line.startswith("+")] == old
    assert [line[2:] for line in lines if not line.startswith("-")] == new
