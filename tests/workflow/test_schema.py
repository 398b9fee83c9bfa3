from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from bakeoff.workflow.models import StepModel
from bakeoff.workflow.schema import json_schema
from bakeoff.workflow.step_models import BUILT_IN
from bakeoff.workflow.step_type import StepTypes

CASES = sorted((Path(__file__).parent / "cases").glob("*.yml"))


def faults(step: dict[str, Any], types: StepTypes | None = None) -> list[str]:
    data = {"workflow": {"id": "a", "name": "A"}, "steps": [step]}
    validator = jsonschema.Draft202012Validator(json_schema(types or StepTypes(discover=False)))
    return [error.message for error in validator.iter_errors(data)]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_cases_against_the_schema(path: Path) -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    found = list(jsonschema.Draft202012Validator(schema).iter_errors(yaml.safe_load(path.read_text())))
    assert bool(found) == ("rejects" in path.stem)


def test_the_schema_is_json_and_every_field_is_described() -> None:
    schema = json_schema(StepTypes(discover=False))
    assert schema["$schema"].endswith("2020-12/schema")
    definitions = json.loads(json.dumps(schema))["$defs"]
    assert definitions["step"]["properties"]["type"]["enum"] == sorted(BUILT_IN)
    for name, definition in definitions.items():
        assert definition["description"]
        for key, field in definition["properties"].items():
            assert "description" in field or name == "step", (name, key)


@pytest.mark.parametrize(
    ("step", "wrong"),
    [
        ({"id": "s", "command": "x"}, False),
        ({"id": "s", "run": "x"}, True),
        ({"id": "a b", "type": "slot"}, False),
        *(({"id": name, "type": "slot"}, True) for name in ("", " ", "a ", ".", "..", "a:b", "a\n", "\x1b")),
        ({"id": "s", "type": "shell", "run": "x"}, False),
        ({"id": "s", "type": "shell", "argv": ["x"]}, False),
        ({"id": "s", "type": "shell", "argv": ["x"], "run": "x"}, True),
        ({"id": "s", "type": "shell", "run": "x", "timeout": 0}, True),
        ({"id": "s", "type": "shell", "run": "x", "timeout": 0.5, "retry": {"on": ["exit"], "jitter": 1}}, False),
        ({"id": "s", "type": "shell", "run": "x", "retry": {"jitter": 2}}, True),
        ({"id": "s", "type": "shel", "run": "x"}, True),
        ({"id": "s", "type": "if", "condition": True, "then": [], "else": None}, False),
        ({"id": "s", "type": "if", "condition": True, "then": [{"id": "t", "type": "if"}]}, True),
        ({"id": "s", "type": "fan-out", "items": [], "step": {"id": "t", "type": "shell"}}, True),
        ({"id": "s", "type": "parallel", "branches": {"a": [{"type": "slot"}]}}, True),
        ({"id": "s", "type": "fan-out", "items": [], "step": {"id": "t", "type": "slot"}, "min_success": 0.5}, False),
    ],
)
def test_single_steps_against_the_schema(step: dict[str, Any], wrong: bool) -> None:
    assert bool(faults(step)) is wrong


def test_custom_step_types_are_in_the_schema() -> None:
    class Fields(StepModel):
        """Waits."""

        seconds: int

    class Wait:
        name, model = "wait", Fields

        def run(self, step: Any, context: Any) -> None: ...

    types = StepTypes([Wait()], discover=False)
    assert faults({"id": "s", "type": "wait", "seconds": 1}, types) == []
    assert faults({"id": "s", "type": "wait"}, types) != []
    assert faults({"id": "s", "type": "wait", "seconds": 1}) != []
