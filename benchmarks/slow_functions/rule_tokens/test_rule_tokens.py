import pytest
from rule_tokens import RuleSyntaxError, Token, names_used, tokenize


def texts(source):
    return [token.text for token in tokenize(source)]


def test_empty():
    assert tokenize("") == []
    assert tokenize(" \n\t# only a comment") == []


def test_kinds_and_places():
    assert tokenize("x = 1.5\nif y") == [
        Token("name", "x", 1, 1),
        Token("operator", "=", 1, 3),
        Token("number", "1.5", 1, 5),
        Token("keyword", "if", 2, 1),
        Token("name", "y", 2, 4),
    ]


def test_longest_operator_wins():
    assert texts("a<=b!=c<d") == ["a", "<=", "b", "!=", "c", "<", "d"]


def test_strings():
    assert tokenize("'it # is' \"\"")[0] == Token("string", "it # is", 1, 1)
    assert [token.column for token in tokenize("'a' 'b'")] == [1, 5]


def test_comment_ends_with_the_line():
    assert texts("a # b\nc") == ["a", "c"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a\n  $", "line 2, column 3: unexpected '\\$'"),
        ("'abc", "string without an end"),
        ("'a\n'", "line 1, column 1"),
    ],
)
def test_errors(source, message):
    with pytest.raises(RuleSyntaxError, match=message):
        tokenize(source)


def test_names_used():
    assert names_used("b = a + iffy if not b") == ["a", "b", "iffy"]


def test_large_source():
    source = "\n".join(
        f"discount_{i} = price[{i}] * 0.{i} if member and total >= {i * 10} else 'none' # rule {i}" for i in range(32)
    )
    tokens = tokenize(source)
    assert len(tokens) == 32 * 16
    assert tokens[-1] == Token(kind="string", text="none", line=32, column=64)
    assert sum(token.column for token in tokens) == 16598
    assert len(names_used(source)) == 35
