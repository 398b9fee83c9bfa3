"""The JSON Schema of workflow files, from the same models that validation uses; editors complete and check with it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from bakeoff.workflow.file_model import WorkflowFile
from bakeoff.workflow.models import STEP_MARK
from bakeoff.workflow.step_type import StepTypes

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_STEP = "step"
_ID = r"^(?!\s|\.{1,2}$|[\s\S]*\s$)[^:/\u0000-\u001f\u007f-\u009f]+$"


def json_schema(step_types: StepTypes | None = None) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a workflow file with the step types known."""
    types = step_types or StepTypes()
    models = {name: model for name in types.names() if (model := types.model(name)) is not None}
    wanted: list[tuple[type[BaseModel], Literal["validation"]]] = [(WorkflowFile, "validation")]
    wanted += [(model, "validation") for model in models.values()]
    refs, made = models_json_schema(wanted, ref_template="#/$defs/{model}")
    definitions: dict[str, Any] = _with_references(made["$defs"])
    names = {model: ref["$ref"].rsplit("/", 1)[-1] for (model, _), ref in refs.items()}
    for name, model in models.items():
        definitions[names[model]]["properties"]["type"] = {"const": name, "description": _sentence(model)}
    root = definitions.pop(names[WorkflowFile])
    definitions[_STEP] = _step({name: names[model] for name, model in models.items()}, models)
    return {"$schema": DIALECT, "title": "bakeoff workflow", **_without_title(root), "$defs": definitions}


def _step(names: dict[str, str], models: dict[str, Any]) -> dict[str, Any]:
    """A step: its `type` decides which fields it has, so that an editor reports faults of that type alone."""
    branches = [
        {
            "if": {
                "properties": {"type": {"const": name}},
                **({} if name == "command" else {"required": ["type"]}),
            },
            "then": {"$ref": f"#/$defs/{definition}"},
        }
        for name, definition in names.items()
    ]
    kinds = {"enum": list(names), "default": "command", "description": "What sort of step it is."}
    return {
        "title": "Step",
        "description": "One step of a workflow.",
        "type": "object",
        "required": ["id"],
        "properties": {"type": kinds, "id": {"type": "string", "minLength": 1, "pattern": _ID}},
        "allOf": branches,
    }


def _with_references(schema: Any) -> Any:
    if isinstance(schema, dict):
        if STEP_MARK in schema:
            return {
                "$ref": f"#/$defs/{_STEP}",
                **{key: schema[key] for key in schema if key == "description"},
            }
        return {key: _with_references(part) for key, part in schema.items()}
    return [_with_references(part) for part in schema] if isinstance(schema, list) else schema


def _without_title(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "title"}


def _sentence(model: type[Any]) -> str:
    return (model.__doc__ or "").strip().split("\n")[0]
