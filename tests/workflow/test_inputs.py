from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.engine.mask import Masker
from bakeoff.errors import BakeoffError
from bakeoff.workflow.file_model import InputDeclaration
from bakeoff.workflow.inputs import resolve_inputs, undeclared


def resolve(declaration: dict[str, Any], **given: Any) -> Any:
    return resolve_inputs({"v": InputDeclaration.model_validate(declaration)}, given).get("v", "absent")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        *(("5.0", 5), ("2.50", 2.5), (5, 5), (5.0, 5), (2.5, 2.5), ("-7", -7), ("1e3", 1000), (" 8 ", 8)),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_numbers(given: Any, value: Any) -> None:
    result = resolve({"type": "number"}, v=given)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize("given", [True, "x", "nan", "inf", "", None, [1], float("nan"), "9" * 5000])
def test_what_is_no_number(given: Any) -> None:
    with pytest.raises(BakeoffError, match="input `v` must be a number"):
        resolve({"type": "number"}, v=given)


@pytest.mark.parametrize(
    ("given", "value"),
    [(True, True), ("TRUE", True), ("1", True), ("Yes", True), (False, False), ("no", False), ("0", False)],
)
def test_booleans(given: Any, value: bool) -> None:
    assert resolve({"type": "boolean"}, v=given) is value


@pytest.mark.parametrize("given", ["maybe", "", None, 2, 1.0])
def test_what_is_no_boolean(given: Any) -> None:
    with pytest.raises(BakeoffError, match="must be true or false"):
        resolve({"type": "boolean"}, v=given)


def test_where_a_value_comes_from() -> None:
    assert resolve({"default": "d"}, v="given") == "given"
    assert resolve({"default": "d"}) == "d"
    assert resolve({"default": "d", "required": True}) == "d"
    assert resolve({}) == "absent"
    assert resolve_inputs({}, {"other": 1}) == {}
    with pytest.raises(BakeoffError, match="must be text, not the number 5"):
        resolve({}, v=5)


def test_the_values_allowed() -> None:
    assert resolve({"type": "number", "enum": [1, 2]}, v="2") == 2
    with pytest.raises(BakeoffError, match="must be one of a, b, not the text"):
        resolve({"enum": ["a", "b"]}, v="c")
    with pytest.raises(BakeoffError, match="one of"):
        resolve({"type": "boolean", "enum": [1]}, v=True)


def test_all_that_is_wrong_is_told_at_once() -> None:
    declared = {"a": InputDeclaration(required=True), "b": InputDeclaration(type="number"), "c": InputDeclaration()}
    with pytest.raises(BakeoffError) as caught:
        resolve_inputs(declared, {"b": "x"})
    assert str(caught.value).split("\n") == [
        "required input `a` is not provided; give it with -i a=VALUE",
        'input `b` must be a number, not the text "x"',
    ]


def test_a_secret_is_not_shown_in_what_is_said_of_a_value() -> None:
    secret = "sk-" + "a1" * 40
    masker = Masker({"TOKEN": secret})
    for declaration in (
        InputDeclaration(type="number"),
        InputDeclaration(enum=["a"]),
        InputDeclaration(type="boolean"),
    ):
        with pytest.raises(BakeoffError) as caught:
            resolve_inputs({"n": declaration}, {"n": secret}, None, masker)
        assert "sk-" not in str(caught.value)
        assert "input `n` must be" in str(caught.value)


def test_names_that_nobody_declares() -> None:
    declared = {"branch": InputDeclaration()}
    assert undeclared(declared, {"branch": 1}) == []
    assert undeclared(declared, ["unlike"]) == ["there is no input `unlike`; its value is dropped"]
    assert undeclared(declared, ["brnch"]) == ["there is no input `brnch`; did you mean `branch`?"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"integration": "codex"}', "codex"),
        ('{"integration": "other"}', None),
        ('{"integration_state_schema": 1, "default_integration": "claude"}', "claude"),
        ('{"integration_state_schema": 1, "default_integration": "claude", "integration": "codex"}', "claude"),
        ('{"integration_state_schema": 2, "default_integration": "claude", "integration": "claude"}', "auto"),
        *((content, "auto") for content in ('{"integration": 5}', "[]", "{", '{"integration": ""}', None)),
    ],
)
def test_the_integration_of_the_project(tmp_path: Path, content: str | None, expected: str | None) -> None:
    if content is not None:
        (tmp_path / ".specify").mkdir()
        (tmp_path / ".specify" / "integration.json").write_text(content)
    declared = {"integration": InputDeclaration(default="auto", enum=["codex", "claude"])}
    if expected is None:
        with pytest.raises(BakeoffError, match="must be one of"):
            resolve_inputs(declared, {}, tmp_path)
    else:
        assert resolve_inputs(declared, {}, tmp_path) == {"integration": expected}
    assert resolve_inputs(declared, {}) == {"integration": "auto"}
    assert resolve_inputs(declared, {"integration": "claude"}, tmp_path) == {"integration": "claude"}
