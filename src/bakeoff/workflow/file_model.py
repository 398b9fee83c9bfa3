"""Workflow file model: its top level, with header, inputs, outputs, budget and lanes; steps stay as written."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from bakeoff.workflow.models import STEPS_SCHEMA, Environment, Positive, Strict


class Header(Strict):
    """The `workflow:` mapping."""

    id: str = Field(description="Name of the workflow.", pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
    name: str = Field(description="Title for people.", min_length=1)
    version: str = Field("0.0.0", description="Version, three numbers.", pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")
    author: Any = Field(None, description="Who wrote it.")
    description: Any = Field(None, description="What it does.")
    integration: str | None = Field(None, description="Agent for command and prompt steps that name none.")
    model: str | None = Field(None, description="Model for command and prompt steps that name none.")
    options: dict[str, Any] | None = Field(None, description="Options for command steps.")


def _refuse_permissions(value: Any) -> Any:
    raise ValueError("is refused, because nothing would enforce it; take it out")


class Requires(Strict):
    """The `requires:` mapping; advice for people, never enforced."""

    speckit_version: Any = Field(None, description="Version of spec-kit the file was written for.")
    integrations: Any = Field(None, description="Agents the workflow was written for.")
    permissions: Annotated[Any, AfterValidator(_refuse_permissions)] = Field(
        None, description="Refused: nothing would enforce it."
    )


class InputDeclaration(Strict):
    """One input."""

    type: Annotated[
        Literal["string", "number", "boolean"],
        BeforeValidator(lambda value: "string" if value == "" else value),
        WithJsonSchema({"enum": ["string", "number", "boolean", ""]}),
    ] = Field("string", description="Type of the value; empty is `string`.")
    required: bool = Field(False, description="Refuse to start without a value.")
    default: Any = Field(None, description="Value when none is given.")
    enum: list[Any] | None = Field(None, description="The values allowed.")
    prompt: Any = Field(None, description="Question for people.")
    description: Any = Field(None, description="What it is for.")


class OutputDeclaration(Strict):
    """One output."""

    value: Any = Field(description="Value or expression, evaluated when the workflow has completed.")
    description: Any = Field(None, description="What it is.")


class Budget(Strict):
    """Ceilings for the whole run."""

    usd: Positive | None = Field(None, description="Money, in US dollars.")
    tokens: Annotated[int, Field(gt=0)] | None = Field(None, description="Tokens, in and out.")
    calls: Annotated[int, Field(gt=0)] | None = Field(None, description="Calls of agents and models.")
    seconds: Positive | None = Field(None, description="Wall-clock time.")


def _version_text(value: Any) -> Any:
    return str(value) if isinstance(value, float) else value


class WorkflowFile(Strict):
    """A workflow file."""

    schema_version: Annotated[
        Literal["1.0"], BeforeValidator(_version_text), WithJsonSchema({"enum": ["1.0", 1.0]})
    ] = Field("1.0", description="Version of the file format.")
    workflow: Header = Field(description="Name and version of the workflow.")
    requires: Requires = Field(default_factory=Requires, description="What the workflow was written for.")
    inputs: dict[str, InputDeclaration] = Field(default_factory=dict, description="The inputs, by name.")
    steps: Annotated[list[Any], WithJsonSchema({**STEPS_SCHEMA, "minItems": 1})] = Field(
        description="The steps, in the order in which they run.", min_length=1
    )
    outputs: dict[str, OutputDeclaration] = Field(default_factory=dict, description="The outputs, by name.")
    secrets: list[str] | dict[str, str] = Field(
        default_factory=list,
        description="Environment variables whose values are masked wherever bakeoff writes; a mapping names them.",
    )
    budget: Budget = Field(default_factory=Budget, description="Ceilings for the whole run.")
    env: Environment = Field(default_factory=dict, description="Environment variables for every step.")
    lanes: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict, description="Named capacities: how many steps naming the lane may work at once."
    )
