from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.workflow.document import Document, load_document, parse_document
from bakeoff.workflow.problems import InvalidWorkflowError, Problem, show_path, suggestion

TEXT = """\
workflow: {id: a, name: b}
steps:
  - id: first
    run: |
      echo one
      echo two
  - {id: second, env: {A: &x 1, B: *x}}
"""


def refusal(text: str) -> Problem:
    with pytest.raises(InvalidWorkflowError) as caught:
        parse_document(text)
    return caught.value.problems[-1]


def test_every_key_and_value_has_its_place() -> None:
    document = parse_document(TEXT)
    assert document.data["steps"][1] == {"id": "second", "env": {"A": 1, "B": 1}}
    assert document.position(("workflow", "name")) == (1, 25)
    assert document.position(("workflow", "name"), key=True) == (1, 19)
    assert document.position(("steps", 0, "run")) == (4, 10)
    assert document.position(("steps", 0, "run"), key=True) == (4, 5)
    assert document.position(("steps", 1)) == (7, 5)
    assert document.position(("steps", 1, "env", "A")) == (7, 27)
    assert document.position(()) == (1, 1)


def test_what_is_missing_is_placed_at_what_should_hold_it() -> None:
    document = parse_document(TEXT)
    assert document.position(("steps", 0, "timeout")) == (3, 5)
    assert document.position(("steps", 9)) == (3, 3)
    assert document.problem("error", ("steps", 0, "x"), "no").path == "steps[0].x"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(("yes", True), ("Off", False), ("~", None), ("", None), ("12", 12), ("0x1F", 31), ("010", 8), ("1:30", 90)),
        *(("1.5", 1.5), ("1e3", "1e3"), ("2024-01-31", "2024-01-31"), ("'yes'", "yes"), ('"5"', "5"), ("!!str 5", "5")),
        *(("! 5", "5"), ("!!int '7'", 7), ("=", "="), ("[a, {b: c}]", ["a", {"b": "c"}])),
    ],
)
def test_values_are_typed_as_in_yaml_1_1(written: str, value: object) -> None:
    assert parse_document(f"v: {written}").data["v"] == value


def test_keys_keep_their_type_and_the_last_of_equal_keys_counts() -> None:
    document = parse_document("a: 1\ntrue: x\n2: y\na: 3\n")
    assert document.data == {"a": 3, True: "x", 2: "y"}
    (problem,) = document.problems
    assert (problem.severity, problem.line, problem.column) == ("warning", 4, 1)
    assert "line 1" in problem.message


def test_merged_keys() -> None:
    document = parse_document("x: &x {p: 1, q: 2}\ny: &y {r: 3}\nz: {<<: [*x, *y], q: 9}\nw:\n  <<: *x\n")
    assert document.data["z"] == {"q": 9, "p": 1, "r": 3}
    assert document.data["w"] == {"p": 1, "q": 2}
    assert document.position(("z", "p")) == (1, 11)
    assert "mapping" in refusal("z: {<<: 5}").message


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("a: [", 2, 1, "not YAML"),
        ("a:\n\tb: 1", 2, 1, "spaces, not tabs"),
        ("a: 'x\n", 2, 1, "not YAML"),
        ("a: b: c", 1, 5, "not YAML"),
        ("- 1", 1, 1, "must be a mapping"),
        ("", 1, 1, "must be a mapping"),
        ("text", 1, 1, "must be a mapping"),
        ("a: 1\n---\nb: 2", 2, 1, "second document"),
        ("a: \x07", 1, 4, "may not stand in YAML"),
        ("a: &x [*x]", 1, 8, "stands inside"),
        ("a: *x", 1, 4, "no anchor"),
        ("a: !python/object:os.system {}", 1, 4, "not supported"),
        ("a: !foo 1", 1, 4, "cannot be read"),
        ("a: !!int x", 1, 4, "cannot be read"),
        ("a: " + "9" * 5000, 1, 4, "cannot be read"),
        ("a: !!binary aGk=", 1, 4, "cannot be read"),
        ("{[1]: 2}", 1, 2, "key must be"),
        ("{{ inputs.x }}: 2", 1, 2, "key must be"),
        ("a: " + "{b: " * 200, 1, 400, "nested more than 100 deep"),
    ],
)
def test_what_cannot_be_read_says_where(text: str, line: int, column: int, words: str) -> None:
    problem = refusal(text)
    assert words in problem.message
    assert (problem.line, problem.column) == (line, column)


def test_a_deep_file_of_any_size_is_refused_at_once() -> None:
    started = time.process_time()
    for text in ("a: " + "[" * 100_000, "a: " + "{b: " * 100_000, "- " * 100_000, "? " * 100_000):
        assert refusal(text).message
    assert time.process_time() - started < 20


def test_aliases_may_not_be_used_to_build_a_bomb() -> None:
    lines = ["a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]" for i in range(9)]
    assert "1,000,000" in refusal("\n".join(lines)).message
    nested = ["a: &a0 [1]"] + [f"b{i}: &a{i + 1} [*a{i}]" for i in range(120)]
    assert "100 deep" in refusal("\n".join(nested)).message


def test_a_file_is_read_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "flow.yml"
    path.write_bytes(b"\xef\xbb\xbfa: \xc3\xa4\n")
    document = load_document(path)
    assert isinstance(document, Document)
    assert (document.data, document.path, document.name) == ({"a": "ä"}, path.resolve(), str(path))


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidWorkflowError, match="cannot read the file"):
        load_document(tmp_path / "none.yml")
    path = tmp_path / "flow.yml"
    path.write_bytes(b"a: 1\nb: x\xff\n")
    with pytest.raises(InvalidWorkflowError, match=r"line 2, column 5: the file is not UTF-8"):
        load_document(path)
    monkeypatch.setattr("bakeoff.workflow.document.MAX_BYTES", 4)
    with pytest.raises(InvalidWorkflowError, match="larger than 4 bytes"):
        load_document(path)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#,? \n\t0<%@`~", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        document = parse_document(text)
    except InvalidWorkflowError as failure:
        problems = list(failure.problems)
    else:
        problems = document.problems
    assert all(problem.line >= 1 and problem.column >= 1 for problem in problems)


def test_characters_of_a_text_have_a_place_too() -> None:
    document = parse_document(
        "a: one two\nb: 'one two'\nc: |\n  one\n\n   two\nd: >\n  one\n  two\ne: \"o\\x6ee two\"\nf: one\n  two\n"
    )

    def place(key: str) -> tuple[int, int]:
        text = document.data[key]
        return document.position_in((key,), text, text.index("two"))

    assert [place(key) for key in "abcdef"] == [(1, 8), (2, 9), (6, 4), (7, 4), (10, 4), (11, 4)]


def test_words_for_paths_and_suggestions() -> None:
    assert show_path(("steps", 3, "cases", True, 0, "run")) == "steps[3].cases.True[0].run"
    assert suggestion("max_concurency", ["max_concurrency", "items"]) == "; did you mean `max_concurrency`?"
    assert suggestion("zzz", ["items"]) == ""
    assert Problem("error", "no").render("f.yml") == "f.yml: no"
    assert Problem("warning", "no", 2, 3).render("f.yml") == "f.yml: line 2, column 3: warning: no"
