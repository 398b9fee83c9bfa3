import pytest
from paragraph_layout import badness, justify, layout


def test_empty():
    assert layout("  ", 10) == []
    assert justify([], 10) == []


def test_even_margin_beats_the_greedy_break():
    assert layout("aaa bb cc ddddd", 6) == ["aaa", "bb cc", "ddddd"]


def test_last_line_may_be_short():
    assert layout("aaaa bbbb c", 9) == ["aaaa bbbb", "c"]
    assert badness(5, last=True) == 0


def test_indent():
    assert layout("aa bb cc", 5, indent=3) == ["   aa", "bb cc"]


def test_long_word_stands_alone():
    assert layout("a extraordinary b", 5) == ["a", "extraordinary", "b"]
    assert layout("extraordinary", 5, indent=1) == [" extraordinary"]


def test_no_room():
    with pytest.raises(ValueError, match="no room in 4 columns"):
        layout("a", 4, indent=4)


def test_justify():
    assert justify(["a b c", "  d e", "f"], 8) == ["a   b  c", "  d    e", "f"]


def test_large_paragraph():
    words = ["".join("abcdefghij"[(i + j) % 10] for j in range(i * 7 % 9 + 1)) for i in range(110)]
    lines = layout(" ".join(words), 40, indent=2)
    assert [len(line) for line in lines] == [37, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 35, 37, 8]
    assert " ".join(lines).split() == words
