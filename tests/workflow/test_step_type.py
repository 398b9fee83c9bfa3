from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import Any, Literal

import pytest

from bakeoff.errors import BakeoffError
from bakeoff.workflow.document import parse_document
from bakeoff.workflow.models import Positive, StepModel, Text
from bakeoff.workflow.step_models import Shell
from bakeoff.workflow.step_type import StepTypes
from bakeoff.workflow.validate import parse_workflow, validate

HEAD = "workflow: {id: a, name: A}\nsteps:\n"


class Fields(StepModel):
    """Greets."""

    greeting: Text


class Greet:
    name = "greet"
    model = Fields
    untrusted = True

    def run(self, step: Fields, context: Any) -> str:
        return str(step.template("greeting").evaluate(context))


class Nameless(Greet):
    name = ""


class Shapeless(Greet):
    model = dict  # type: ignore[assignment]


class Idle:
    name, model = "idle", Fields


class Taken(Greet):
    name = "shell"


def installed(monkeypatch: pytest.MonkeyPatch, **values: str) -> list[int]:
    asked: list[int] = []

    def entry_points(group: str) -> list[EntryPoint]:
        asked.append(1)
        return [EntryPoint(name, value, group) for name, value in values.items()]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    return asked


def test_a_registered_step_type_is_checked_like_the_others() -> None:
    types = StepTypes([Greet()], discover=False)
    text = HEAD + "  - {id: s, type: greet, greeting: 'hi {{ inputs.x }}', greting: x}\n  - {id: t, type: greet}\n"
    messages = [problem.message for problem in validate(parse_document(text), step_types=types)]
    assert messages == [
        "there is no input `x`; it reads as null",
        "unknown key `greting`; did you mean `greeting`?",
        "`greeting` is missing; a step of type `greet` needs it",
    ]
    workflow = parse_workflow(HEAD + "  - {id: s, type: greet, greeting: hi}", step_types=types)
    assert isinstance(workflow.steps[0], Fields)
    assert types.custom("greet") is not None
    assert (types.untrusted("greet"), types.untrusted("prompt"), types.untrusted("shell")) == (True, True, False)


@pytest.mark.parametrize(
    ("step_type", "words"),
    [(Nameless(), "has no name"), (Shapeless(), "has no model"), (Idle(), "has no method"), (Taken(), "already")],
)
def test_a_step_type_that_breaks_the_contract_is_refused(step_type: Any, words: str) -> None:
    with pytest.raises(BakeoffError, match=words):
        StepTypes([step_type])


def test_installed_step_types_are_looked_up_only_for_unknown_names(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = installed(monkeypatch, greet=f"{__name__}:Greet")
    types = StepTypes()
    assert types.model("shell") is Shell
    assert asked == []
    assert types.model("greet") is Fields
    assert types.model("other") is None
    assert types.custom("shell") is None
    assert asked == [1]
    assert "greet" in types.names()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("greet", "no_such_module:X", "cannot be loaded: No module named"),
        ("greet", f"{__name__}:Nameless", "has no name"),
        ("hello", f"{__name__}:Greet", "calls itself something else"),
    ],
)
def test_an_installed_step_type_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    installed(monkeypatch, **{name: value})
    with pytest.raises(BakeoffError, match=words) as caught:
        StepTypes().model(name)
    assert name in str(caught.value)


def test_what_start_up_pays_for() -> None:
    script = """
import sys
import bakeoff.workflow.expressions
assert not {"pydantic", "yaml"} & set(sys.modules)
from bakeoff.workflow.validate import parse_workflow
parse_workflow("workflow: {id: a, name: A}\\nsteps: [{id: s, type: shell, run: ls}]")
assert not {"rich", "click", "httpx", "bakeoff.workflow.schema"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], check=True, env={"PYTHONPATH": ":".join(sys.path)})


class Choosing(StepModel):
    """Takes one of several sorts of value."""

    unique: Literal[True] | dict[str, int] | None = None
    how: Literal["fast", False] = "fast"
    most: Positive | Literal["all"] = "all"


class Choose(Greet):
    name, model = "choose", Choosing


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("unique: 5", "`unique` must be true or a mapping, not the number 5"),
        ("unique: false", "`unique` must be true or a mapping, not the boolean false"),
        ("how: fats", "`how` must be 'fast' or false, not the text \"fats\"; did you mean `fast`?"),
        ("most: -1", "`most` must be greater than 0, not the number -1"),
    ],
)
def test_a_field_of_several_sorts_is_told_with_all_of_them(field: str, message: str) -> None:
    document = parse_document(f"{HEAD}  - {{id: x, type: choose, {field}}}\n")
    problems = validate(document, step_types=StepTypes([Choose()], discover=False))
    assert [problem.message for problem in problems] == [message]
