from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bakeoff.engine.record import Stored
from bakeoff.workflow.expression_nodes import children, paths
from bakeoff.workflow.expression_parser import parse
from bakeoff.workflow.expressions import ExpressionError, compile_template, truth
from bakeoff.workflow.values import plain
from searches import examples

DATA = {
    "inputs": {
        **{"n": 5, "s": "abc", "e": "", "num": "10", "f": False, "t": True, "x": 1.5, "l": [3, 1, 2]},
        **{"d": {"a": {"b": 1}, "k k": 2, "with-hyphen": 3}, "json": '[1, {"a": null}]', "words": ["a", "b"]},
        **{"rows": [{"a": {"b": 1}}, {"a": 2}, 7], "zero": 0, "two": [["x"]], "hash": "a|b"},
    },
    "steps": {
        "j": {"output": {"data": {"l": [3, 1, 2], "z": 0}, "exit_code": 0, "stdout": "out\n"}, "status": "completed"},
        "loop:n:1": {"output": {"stdout": "pass"}},
    },
    "item": [7, 8],
    "index": 3,
    "context": {"run_id": "r1", "workflow_dir": "/w"},
}


class Names:
    def __init__(self, **names: Any) -> None:
        self.names = {**DATA, **names}

    def lookup(self, root: str) -> Any:
        return self.names.get(root)


def evaluate(text: Any, **names: Any) -> Any:
    return compile_template(text).evaluate(Names(**names))


TABLE: list[tuple[str, Any]] = [
    # literals
    ("'a and b'", "a and b"),
    ('"it\'s"', "it's"),
    ("''", ""),
    ("5", 5),
    ("-3", -3),
    ("+4", 4),
    ("2.50", 2.5),
    ("1e3", None),
    ("TRUE", True),
    ("False", False),
    ("NULL", None),
    ("none", None),
    ("[]", []),
    ("[1, 'a, b', [2],]", [1, "a, b", [2]]),
    ("[1,, 2]", [1, 2]),
    ("[inputs.n, inputs.zip]", [5, None]),
    # paths
    ("inputs.n", 5),
    ("inputs.d.a.b", 1),
    ("inputs.d.k k", 2),
    ("inputs.d.k \n  k", 2),
    ("inputs.d.with-hyphen", 3),
    ("steps.loop:n:1.output.stdout", "pass"),
    ("inputs.l[0]", 3),
    ("inputs.l[-1]", 2),
    ("inputs.l[9]", None),
    ("inputs.l[-4]", None),
    ("inputs.two[0][0]", None),
    ("inputs.s[0]", None),
    ("inputs.l.first", None),
    ("inputs.n.x", None),
    ("inputs.d[0]", None),
    ("item[1]", 8),
    ("index", 3),
    ("nobody.knows", None),
    ("inputs.n + 1", None),
    ("inputs['n']", None),
    ("context.run_id", "r1"),
    # comparisons: equality does not convert, order does when both look like numbers
    ("inputs.n == 5", True),
    ("inputs.n == '5'", False),
    ("inputs.t == 1", True),
    ("inputs.n!=5", False),
    ("inputs.num > 9", True),
    ("inputs.num > '9'", True),
    ("inputs.num < '9.5'", False),
    ("'b' > 'a'", True),
    ("'2024-02-01' > '2024-01-31'", True),
    ("inputs.s > 5", False),
    ("inputs.s <= 5", False),
    ("inputs.zip > 5", False),
    ("inputs.n>4", True),
    ("inputs.n >= 5", True),
    ("inputs.n <= 4", False),
    ("5 > 4 > 3", True),
    ("1 == 1 != false", True),
    ("'b' in inputs.s", True),
    ("'z' not in inputs.s", True),
    ("1 in inputs.l", True),
    ("'a' in inputs.d", True),
    ("'b' in inputs.zip", False),
    ("'b' not in inputs.n", True),
    ("5 in inputs.s", False),
    # booleans
    ("inputs.n and inputs.s", True),
    ("inputs.e or inputs.zip", False),
    ("inputs.f and inputs.f or inputs.n", True),
    ("not inputs.n == 5", False),
    ("not not inputs.n", True),
    ("not inputs.e", True),
    ("(inputs.f or inputs.t) and inputs.n", True),
    ("inputs.f and (inputs.f or inputs.t)", False),
    ("((inputs.n))", 5),
    ("inputs.f\n  or\tinputs.n", True),
    ("not\n(inputs.f)", True),
    ("'a and b' == 'a and b'", True),
    ("nothing", None),
    ("note", None),
    ("android", None),
    # filters
    ("inputs.e | default('dd')", "dd"),
    ("inputs.zip | default", ""),
    ("inputs.zip|default(inputs.n)", 5),
    ("inputs.zero | default('dd')", 0),
    ("inputs.f | default('dd')", False),
    ("inputs.zip | default((1 == 1))", True),
    ("inputs.l | join('-')", "3-1-2"),
    ("inputs.n | join('-')", "5"),
    ("[none, true] | join(' ')", "None True"),
    ("inputs.rows | map('a.b')", [1, None, 7]),
    ("inputs.n | map('a')", []),
    ("inputs.s | contains('b')", True),
    ("inputs.l | contains(1)", True),
    ("inputs.n | contains(1)", False),
    ("inputs.json | from_json", [1, {"a": None}]),
    ("'a,b' | split(',')", ["a", "b"]),
    ("inputs.s | upper", "ABC"),
    ("'ABC' | lower", "abc"),
    ("inputs.l | length", 3),
    ("inputs.s | length", 3),
    ("inputs.d | to_json", '{"a": {"b": 1}, "k k": 2, "with-hyphen": 3}'),
    ("'ä' | json", '"ä"'),
    ("inputs.hash | split('|') | join('+')", "a+b"),
    ("inputs.l | join('-') | contains('1-2')", True),
    ("'a|b'", "a|b"),
    ("'it' | sh", "it"),
    ('"it\'s" | sh', "'it'\"'\"'s'"),
    ("['a b', 1, none] | sh", "'a b' 1 ''"),
    ("inputs.zip | sh", "''"),
    ("(inputs.zip | default('x')) == 'x'", True),
]


@pytest.mark.parametrize(("text", "expected"), TABLE, ids=[text for text, _ in TABLE])
def test_a_lone_block_keeps_its_type(text: str, expected: Any) -> None:
    value = evaluate("{{ " + text + " }}")
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  {{ inputs.n }}\n", 5),
        ("v={{ inputs.n }} f={{ inputs.f }} none=[{{ inputs.zip }}]", "v=5 f=False none=[]"),
        ("{{ inputs.l }}{{ inputs.d.a }}", "[3, 1, 2]{'b': 1}"),
        ("{{ inputs.x }} {{ [1, 'b'] }}", "1.5 [1, 'b']"),
        ("{{ inputs.s }}{{ '}}' }}", "abc}}"),
        ("{{ '{{' }}", "{{"),
        ("{{ inputs.n", "{{ inputs.n"),
        ("a {{ inputs.n }} {{ b", "a 5 {{ b"),
        ("{{ }}", ""),
        ("x{{}}y", "xy"),
        ("no block }}", "no block }}"),
        (7, 7),
        (None, None),
        (["{{ inputs.n }}"], ["{{ inputs.n }}"]),
    ],
)
def test_text_around_blocks_gives_text(text: Any, expected: Any) -> None:
    assert evaluate(text) == expected


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("inputs.n == 5 | default(1)", 14, "ambiguous"),
        ("not inputs.n | default(1)", 13, "ambiguous"),
        ("inputs.n | default(0) > 5", 11, "nothing may follow"),
        ("inputs.n | lenght", 11, "did you mean `length`"),
        ("inputs.n | frobnicate", 11, "there are"),
        ("inputs.n |", 10, "unknown filter"),
        ("inputs.n | join", 11, "one argument"),
        ("inputs.n | default(1, 2)", 11, "one argument"),
        ("inputs.n | default()", 11, "one argument"),
        ("inputs.n | upper('x')", 11, "no argument"),
        ("inputs.n | contains(1) (2)", 11, "one argument"),
        ("inputs.n == 'abc", 12, "quote"),
        ("(inputs.n", 0, "never closed"),
        ("inputs.n)", 8, "closes nothing"),
        ("inputs.f(]", 9, "closes nothing"),
        ("inputs.n ==", 11, "missing"),
        ("inputs.n and  or inputs.s", 12, "missing"),
        ("()", 1, "missing"),
        ("9" * 5000, 0, "digits"),
    ],
)
def test_what_does_not_parse_says_where(text: str, position: int, words: str) -> None:
    with pytest.raises(ExpressionError, match=words) as caught:
        compile_template("run {{ " + text + " }}")
    assert (caught.value.expression, caught.value.position) == (text, position)
    assert f"at character {position + 1}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("inputs.s | from_json", "from_json: the text is not usable JSON"),
        ("inputs.n | from_json", "from_json: expected JSON text, got a number"),
        ("'[NaN]' | from_json", "NaN"),
        ("'[1e999]' | from_json", "too large"),
        ("inputs.l | join(5)", "join: expected text as separator, got a number"),
        ("inputs.l | map(none)", "map: expected text as path, got null"),
        ("inputs.s | contains(5)", "contains: expected text, because"),
        ("inputs.l | upper", "upper: expected text, got a list"),
        ("inputs.t | lower", "lower: expected text, got a boolean"),
        ("inputs.d | split(',')", "split: expected text, got a mapping"),
        ("inputs.s | split('')", "separator is empty"),
        ("inputs.d | length", "length: expected a list or text, got a mapping"),
        ("inputs.odd | to_json", "keys must be text"),
        ("inputs.nan | to_json", "no JSON form"),
        ("inputs.bytes | upper", "got bytes"),
    ],
)
def test_a_filter_refuses_what_it_cannot_take(text: str, words: str) -> None:
    inputs = {**DATA["inputs"], "odd": [{1: 2}], "nan": math.nan, "bytes": b"x"}  # type: ignore[dict-item]
    with pytest.raises(ExpressionError, match=words) as caught:
        evaluate("{{ " + text + " }}", inputs=inputs)
    assert caught.value.position == text.index("|") + 2


def test_or_and_and_stop_early() -> None:
    assert evaluate("{{ true or (inputs.s | from_json) }}") is True
    assert evaluate("{{ false and (inputs.s | from_json) }}") is False
    with pytest.raises(ExpressionError):
        evaluate("{{ false or (inputs.s | from_json) }}")


class View(Mapping[str, Any]):
    def __init__(self, data: dict[str, Any]) -> None:
        self.data, self.asked = data, list[str]()

    def __getitem__(self, key: str) -> Any:
        self.asked.append(key)
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)


class Lazy(Sequence[Any]):
    def __init__(self, parts: list[Any]) -> None:
        self.parts, self.taken = parts, 0

    def __getitem__(self, place: Any) -> Any:
        self.taken += 1
        return self.parts[place]

    def __len__(self) -> int:
        return len(self.parts)


def test_views_are_walked_without_being_copied() -> None:
    results = Lazy([View({"exit_code": number}) for number in range(100)])
    view = View({"output": View({"results": results}), "other": View({})})
    assert evaluate("{{ steps.fan.output.results[7].exit_code }}", steps={"fan": view}) == 7
    assert (results.taken, view.asked) == (1, ["output"])
    assert evaluate("{{ steps.fan.output.results | length }}", steps={"fan": view}) == 100
    assert results.taken == 1
    assert evaluate("{{ steps.fan.output.results }}", steps={"fan": view}) is results


def test_views_read_like_lists_and_mappings() -> None:
    names = {"steps": {"v": Lazy([View({"a": 1}), 2])}}
    assert evaluate("x{{ steps.v }}", **names) == "x[{'a': 1}, 2]"
    assert evaluate("{{ steps.v | to_json }}", **names) == '[{"a": 1}, 2]'
    assert evaluate("{{ steps.v | map('a') }}", **names) == [1, 2]
    assert evaluate("{{ steps.v | join('/') }}", **names) == "{'a': 1}/2"
    assert evaluate("{{ steps.v | contains(2) }}", **names) is True
    assert evaluate("{{ steps.v == inputs.same }}", inputs={"same": [{"a": 1}, 2]}, **names) is True
    assert evaluate("{{ steps.v | sh }}", **names) == "'{'\"'\"'a'\"'\"': 1}' 2"


@pytest.fixture
def stored(tmp_path: Path) -> dict[str, Stored]:
    (tmp_path / "text").write_text("long text")
    (tmp_path / "json").write_text('{"a": [1, 2]}')
    return {
        "text": Stored(str(tmp_path / "text"), 9),
        "json": Stored(str(tmp_path / "json"), 13, "json"),
        "gone": Stored(str(tmp_path / "gone"), 5),
    }


def test_stored_values_stay_on_disk_until_they_are_needed(stored: dict[str, Stored]) -> None:
    assert evaluate("{{ inputs.text }}", inputs=stored) is stored["text"]
    assert evaluate("{{ inputs.text | default('x') }}", inputs=stored) is stored["text"]
    assert evaluate("[{{ inputs.text }}]", inputs=stored) == "[long text]"
    assert evaluate("{{ inputs.json.a[1] }}", inputs=stored) == 2
    assert evaluate("{{ inputs.json == inputs.json }}", inputs=stored) is True
    assert evaluate("{{ 'long' in inputs.text }}", inputs=stored) is True
    assert evaluate("{{ inputs.text | upper }}", inputs=stored) == "LONG TEXT"
    assert evaluate("{{ inputs.text | sh }}", inputs=stored) == "'long text'"
    assert evaluate("{{ [inputs.text] }}", inputs=stored) == ["long text"]
    assert evaluate("{{ inputs.all | map('t') }}", inputs={"all": [{"t": stored["text"]}]}) == ["long text"]
    assert evaluate("{{ not inputs.text }}", inputs=stored) is False
    assert truth(stored["text"]) is True


def test_a_stored_value_that_is_gone_is_an_expression_error(stored: dict[str, Stored]) -> None:
    with pytest.raises(ExpressionError, match="cannot be used"):
        evaluate("a {{ inputs.gone }}", inputs=stored)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((text, True) for text in ("true", " True ", "no", "0", " ", "x")),
        *((text, False) for text in ("false", " FALSE\n", "")),
        *((value, bool(value)) for value in (0, 1, None, [], [0], {}, False, True, 0.0)),
    ],
)
def test_truth_of_a_condition(value: Any, expected: bool) -> None:
    assert truth(value) is expected


def test_references_and_literals() -> None:
    template = compile_template("{{ inputs.a | default(steps.b.output.c) }} {{ inputs.a }} {{ [item, 1] }}{{ }}")
    assert template.references == ("inputs.a", "steps.b.output.c", "item")
    assert not template.is_literal
    assert compile_template("plain").is_literal
    assert compile_template(5).references == ()


def test_the_tree_can_be_walked() -> None:
    node = parse("not (a or b and c) == [d, 'x'] or (e | join(f))")
    assert [path.text for path in paths(node)] == ["a", "b", "c", "d", "e", "f"]
    assert children(parse("5")) == ()


HOSTILE = {
    "a megabyte": "a" * 1_000_000,
    "brackets": "(" * 40_000 + "1" + ")" * 40_000,
    "lists": "[" * 90_000,
    "nots": "not " * 20_000 + "x",
    "comparisons": "a == " * 15_000 + "a",
    "filters": "a" + "|upper" * 15_000,
    "arguments": "x|default(" * 9_000,
    "quotes": "'" * 99_999,
    "pipes": "|" * 99_999,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_expressions_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        compile_template("{{ " + text + " }}")


@pytest.mark.parametrize("text", ["a or " * 15_000 + "a", "[" + "1," * 45_000 + "]", "a." * 45_000, "{{ '" * 50_000])
def test_wide_expressions_are_no_trouble(text: str) -> None:
    compile_template("{{ " + text.removeprefix("{{ ") + " }}" if "{{" not in text else text)


def test_values_may_not_exhaust_the_stack() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ExpressionError, match="nested too deeply"):
        evaluate("a{{ item }}", item=deep)
    with pytest.raises(ExpressionError, match="nested more than 200 deep"):
        evaluate("{{ item | from_json }}", item="[" * 100_000)
    with pytest.raises(ExpressionError, match="nested more than 200 deep"):
        evaluate("{{ item | from_json }}", item="[" * 300 + "]" * 300)
    assert evaluate("{{ item | from_json | length }}", item="[" + "[1]," * 300 + "[2]]") == 301
    with pytest.raises(ExpressionError, match="digits"):
        evaluate("{{ item | from_json }}", item="9" * 5000)
    with pytest.raises(ExpressionError, match="digits"):
        evaluate("a{{ item }}", item=10**5000)


PIECES = st.sampled_from(
    [
        *("inputs.n", "inputs.s", "inputs.l[0]", "inputs.d", "item", "nobody", "'q x'", '"', "'", "5", "1.5", "true"),
        *(" or ", " and ", "not ", " == ", "!=", ">", " <= ", " in ", " not in ", " | ", "|default(1)", "| join('-')"),
        *("| from_json", "| upper", "| sh", "| to_json", "| length", "(", ")", "[", "]", "{", "}", ",", ".", " ", "\n"),
    ]
)
SOURCES = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=40)


@pytest.mark.soak
@settings(max_examples=examples(130))
@given(SOURCES)
@example("0]")
def test_nothing_but_expression_errors_is_raised_and_results_repeat(source: str) -> None:
    outcomes = [outcome("{{ " + source + " }}") for _ in range(2)]
    assert outcomes[0] == outcomes[1]


def outcome(text: str) -> str:
    try:
        return repr(plain(evaluate(text)))
    except ExpressionError as failure:
        return f"{failure.reason} at {range(len(failure.expression) + 1)[failure.position]}"


LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.decimals(-1000, 1000, places=3).map(float).filter(lambda number: "e" not in repr(number))
    | st.text().filter(lambda text: not ("'" in text and '"' in text)),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


def spelled(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(spelled, value)) + "]"
    if isinstance(value, str):
        return f'"{value}"' if "'" in value else f"'{value}'"
    return str(value)


@given(LITERALS)
def test_literals_come_back(value: Any) -> None:
    assert evaluate("{{ " + spelled(value) + " }}") == value


@settings(max_examples=25)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=8))
@example(["$(touch x)", "`id`", "'", '"', "\\", "\n", "a b", "*", "-n", "", "!!", "ü"])
def test_sh_survives_a_real_shell(words: list[str]) -> None:
    script = evaluate("printf '%s\\0' {{ item | sh }} {{ item[0] | sh }}", item=words)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [word.encode() for word in [*words, words[0]]]
