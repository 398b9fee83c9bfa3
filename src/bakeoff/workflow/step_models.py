"""The fields of the built-in step types, one model each."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from bakeoff.workflow.models import (
    Condition,
    Interpolated,
    Mapping,
    NamedSteps,
    NotNegative,
    NumberOrText,
    OneStep,
    OptionalSteps,
    StepModel,
    Steps,
    Text,
)

Concurrency = Annotated[Any, Interpolated(), WithJsonSchema({"type": ["number", "string", "null", "boolean"]})]


class Shell(StepModel):
    """Runs a command and keeps what it printed."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["run"]}, {"required": ["argv"]}]})

    run: Text | None = Field(None, description="Text for `/bin/sh -c`. Quote values in it with `| sh`.")
    argv: Annotated[list[str] | None, Interpolated()] = Field(
        None, description="Program and arguments, run without a shell.", min_length=1
    )
    output_format: Literal["json"] | None = Field(
        None, description="`json`: what was printed is parsed and stands at `output.data`."
    )


class Agent(StepModel):
    """Fields of the steps that drive a coding agent."""

    agent_key: ClassVar[str | None] = "integration"

    integration: Text | None = Field(None, description="Which agent; the workflow's own if left out.")
    model: Text | None = Field(None, description="Which model; the workflow's own if left out.")
    integration_args: Annotated[list[str] | None, Interpolated()] = Field(
        None, description="Further arguments for the agent's program."
    )
    integration_options: Mapping | None = Field(None, description="Options of the agent.")
    capture: bool = Field(True, description="Keep what the agent said as output.")
    capture_max_bytes: int | None = Field(
        None, description="Bytes of output to keep of each stream; -1 for all.", ge=-1
    )


class Command(Agent):
    """Has a coding agent carry out one of its commands."""

    command: str = Field(description="The command, as in `speckit.specify`.", min_length=1)
    input: Mapping | None = Field(None, description="What the command is given; `args` is its text.")
    options: dict[str, Any] | None = Field(None, description="Options, over those of the workflow.")


class Prompt(Agent):
    """Gives a text to a coding agent."""

    prompt: Text = Field(description="The text.", min_length=1)


class Gate(StepModel):
    """Waits for a person to decide."""

    message: NumberOrText = Field(description="What is to be decided.")
    options: list[str] = Field(default_factory=lambda: ["approve", "reject"], description="The choices.", min_length=1)
    on_reject: Literal["abort", "skip", "retry"] = Field(
        "abort", description="What a rejection does: end the run, go on, or ask again after `resume`."
    )
    show_file: Text | None = Field(None, description="A file to show with the question.")
    verdict_input: str | None = Field(None, description="An input whose value, when it has one, is the choice.")


class If(StepModel):
    """Runs one of two lists of steps."""

    condition: Annotated[str | bool, Condition()] = Field(description="What is tested.")
    then: Steps = Field(description="The steps when it is true.")
    else_: OptionalSteps = Field(None, alias="else", description="The steps when it is false.")


class Switch(StepModel):
    """Runs the list of steps whose name is the value's text."""

    expression: Annotated[Any, Interpolated()] = Field(description="The value.")
    cases: NamedSteps = Field(description="Lists of steps by value.")
    default: OptionalSteps = Field(None, description="The steps when no case matches.")


class While(StepModel):
    """Repeats steps as long as a condition holds, which is tested first."""

    condition: Annotated[str | bool, Condition()] = Field(description="What is tested before each pass.")
    max_iterations: Annotated[
        int,
        Field(ge=1),
        BeforeValidator(lambda value: 10 if value is None else value),
        WithJsonSchema({"type": ["integer", "null"], "minimum": 1}),
    ] = Field(10, description="Passes after which it ends all the same.")
    steps: Steps = Field(description="The steps of one pass.")


class DoWhile(While):
    """Runs steps once, then repeats them as long as a condition holds."""

    condition: Annotated[str | bool, Condition()] = Field(description="What is tested after each pass.")


class FanOut(StepModel):
    """Runs one step for each item, several at once."""

    items: Annotated[Any, Interpolated()] = Field(description="A list, or an expression that gives one.")
    step: OneStep = Field(description="The step run for each item; `item` and `index` are its names.")
    max_concurrency: Concurrency = Field(1, description="How many items are open at once: a number or an expression.")
    on_halt: Literal["finish", "cancel"] = Field(
        "finish", description="What happens to later items that are running when an item halts the run."
    )
    min_success: NotNegative | None = Field(
        None, description="How many items must succeed: a count, or a share between 0 and 1 such as 0.8."
    )


class FanIn(StepModel):
    """Gathers the outputs of earlier steps."""

    wait_for: list[Any] = Field(description="Ids of steps declared before this one.", min_length=1)
    output: Mapping | None = Field(None, description="Further outputs; `fan_in.results` is what was gathered.")


class Slot(StepModel):
    """A named place that does nothing."""

    name: str | None = Field(None, description="Name of the place.")


class Call(StepModel):
    """Runs another workflow with inputs and names of its own."""

    workflow: Text = Field(description="The workflow: a path beside this file, or an id.", min_length=1)
    input: Mapping | None = Field(None, description="Its inputs.")


class Parallel(StepModel):
    """Runs named lists of steps at once."""

    branches: NamedSteps = Field(description="Lists of steps by name.", min_length=1)
    max_concurrency: Concurrency = Field(None, description="How many branches are open at once; all if left out.")


class Unsupported(StepModel):
    """A type of spec-kit's that is not carried out: with any fields, where it may never be reached."""

    model_config = ConfigDict(extra="allow")


UNSUPPORTED = {
    "init": "set the project up before the run, for example with a shell step",
    "github": "use a shell step with `gh`",
}
"""Such types, and what to do instead."""

BUILT_IN: dict[str, type[StepModel]] = {
    "shell": Shell,
    "command": Command,
    "prompt": Prompt,
    "gate": Gate,
    "if": If,
    "switch": Switch,
    "while": While,
    "do-while": DoWhile,
    "fan-out": FanOut,
    "fan-in": FanIn,
    "slot": Slot,
    "workflow": Call,
    "parallel": Parallel,
}
"""The model of each built-in step type."""

HOLDING = frozenset({"if", "switch", "while", "do-while", "fan-out", "workflow", "parallel"})
"""Built-in step types that hold other steps."""

BY_COMMAND = frozenset({"shell", "command", "prompt"})
"""Built-in step types that touch files only by commands; with `workspace: slot` they are told the slot's path as those
see it. Any other type does its work in this process, and is told it as this process sees it."""

UNTRUSTED = frozenset({"command", "prompt"})
"""Built-in step types whose output is text that nobody has read."""
