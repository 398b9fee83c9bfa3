"""Step models: the fields that every step has, and the types and markers of fields; see `file_model` for the file."""

from __future__ import annotations

import math
from enum import Enum
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    WithJsonSchema,
    model_validator,
)

from bakeoff.jobs.options import BASE
from bakeoff.options.option import default_of, options_of
from bakeoff.workflow.expressions import Template, compile_template
from bakeoff.workflow.problems import shown

FAILURE_KINDS = (
    *(
        "exit",
        "timeout",
        "spawn",
        "empty",
        "output",
        "output-limit",
        "rate-limit",
        "overload",
        "context-length",
        "connection",
        "auth",
        "refusal",
    ),
    *(
        "cut-stream",
        "budget",
        "turns",
        "agent",
        "missing",
        "quorum",
        "items",
        "workflow",
        "error",
        "no-winner",
        "workspace",
        "conflict",
    ),
)
"""Kinds of failure that `retry: {on: ...}` may name, those of built-in steps. Custom steps may have their own."""


class Interpolated:
    """Marks a field in whose text (or the texts of whose list or mapping) `{{ }}` is evaluated."""


class Condition(Interpolated):
    """Marks an interpolated field that is a condition."""


class ShellText(Interpolated):
    """Marks an interpolated field whose text, or each of whose texts, is a command for a shell."""


class Deep(Interpolated):
    """Marks a field in which `{{ }}` is evaluated however deep a text stands.

    Args:
        shell: keys whose text is a command for a shell.
    """

    def __init__(self, *shell: str) -> None:
        self.shell = shell


class Nested(Enum):
    """Marks a field that holds steps, and says how."""

    STEP = "one step"
    LIST = "a list of steps"
    MAPPING = "lists of steps by name"


# Pydantic knows no definition of that name; `schema` puts the reference in its place.
STEP_MARK = "x-step"
_STEP_SCHEMA = {STEP_MARK: True}
STEPS_SCHEMA = {"type": "array", "items": _STEP_SCHEMA}
Steps = Annotated[list[Any], Nested.LIST, WithJsonSchema(STEPS_SCHEMA)]
OptionalSteps = Annotated[
    list[Any] | None, Nested.LIST, WithJsonSchema({"type": ["array", "null"], "items": _STEP_SCHEMA})
]
NamedSteps = Annotated[
    dict[Any, list[Any]],
    Nested.MAPPING,
    WithJsonSchema({"type": "object", "additionalProperties": STEPS_SCHEMA}),
]
OneStep = Annotated[dict[Any, Any], Nested.STEP, WithJsonSchema(_STEP_SCHEMA)]


def _is_finite(value: float) -> bool:
    """Whether a number is one that a float can hold."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _finite(value: float) -> float:
    if not _is_finite(value):
        raise ValueError("must be a finite number")
    return value


# Pydantic's own JSON Schema for a bounded union is wrong, so each of these brings its own.
Positive = Annotated[
    int | float,
    AfterValidator(_finite),
    Field(gt=0),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0}),
]
NotNegative = Annotated[
    int | float, AfterValidator(_finite), Field(ge=0), WithJsonSchema({"type": "number", "minimum": 0})
]
Factor = Annotated[int | float, AfterValidator(_finite), Field(ge=1), WithJsonSchema({"type": "number", "minimum": 1})]
Share = Annotated[
    int | float,
    AfterValidator(_finite),
    Field(ge=0, le=1),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]


def _expression_or(least: int, whole: bool, *, above: bool = False) -> Any:
    """A check of a number that may be given as an expression; with `above` it is more than `least`."""
    bound = f"above {least}" if above else f"of at least {least}"
    wanted = f"a {'whole ' if whole else ''}number {bound}, or an expression"

    def check(value: Any) -> Any:
        if isinstance(value, str) and "{{" in value:
            return value
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not number or value < least or (above and value == least) or not _is_finite(value):
            raise ValueError(f"must be {wanted}, not {shown(value)}")
        return value

    return AfterValidator(check)


def _number_schema(least: int, kind: str, bound: str = "minimum") -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": kind, bound: least}, {"type": "string", "pattern": r"\{\{"}]})


Count = Annotated[Any, Interpolated(), _expression_or(1, True), _number_schema(1, "integer")]
Whole = Annotated[Any, Interpolated(), _expression_or(0, True), _number_schema(0, "integer")]
Amount = Annotated[Any, Interpolated(), _expression_or(0, False), _number_schema(0, "number")]
Ceiling = Annotated[
    Any, Interpolated(), _expression_or(0, False, above=True), _number_schema(0, "number", "exclusiveMinimum")
]
"""Upper bound on a usage: nothing at all is no ceiling that anybody means."""
Text = Annotated[str, Interpolated()]


def _number_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


NumberOrText = Annotated[
    str, BeforeValidator(_number_text), Interpolated(), WithJsonSchema({"type": ["string", "number"]})
]
"""A text for people, which YAML may take for a number."""
Environment = Annotated[dict[str, str | int | float | bool | None], Interpolated()]
Mapping = Annotated[dict[str, Any], Interpolated()]


class Strict(BaseModel):
    """A part of the file: no conversions, no unknown keys, built when first used."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True, populate_by_name=False)


class InSlot(Strict):
    """The place that a step works in, where that is not the project itself."""

    base: str | None = Field(None, description=BASE.help)


def _in_slot(value: Any) -> Any:
    if value is None or isinstance(value, dict | InSlot):
        return value
    if value != "slot":
        raise ValueError(f"must be `slot`, or a mapping with `base`, not {shown(value)}")
    return {}


_IN_SLOT_SCHEMA = WithJsonSchema(
    {
        "anyOf": [
            {"enum": ["slot", None]},
            {"type": "object", "properties": {"base": {"type": "string"}}, "additionalProperties": False},
        ]
    }
)


class Retry(Strict):
    """When and how often a failed step is tried again."""

    attempts: int = Field(2, ge=1, le=1000, description="How often the step is started in all.")
    delay: NotNegative = Field(1.0, description="Seconds before the second attempt.")
    backoff: Factor = Field(2.0, description="Factor by which the delay grows each time.")
    max_delay: NotNegative = Field(60.0, description="Seconds that a delay never exceeds.")
    jitter: Share = Field(
        0.1, description="Random part of each delay: 0 none, 1 anything from nothing to the whole delay."
    )
    on: list[str] | None = Field(
        None,
        description="Kinds of failure to try again after: exit, timeout, spawn, rate-limit, ... All if left out.",
    )

    @model_validator(mode="before")
    @classmethod
    def _yaml_on(cls, data: Any) -> Any:
        # YAML 1.1 reads a bare `on` as the boolean true.
        if isinstance(data, dict) and True in data and "on" not in data:
            return {"on" if key is True else key: value for key, value in data.items()}
        return data


class StepModel(Strict):
    """Fields that every step has. The model of a step type derives from it and adds its own fields.

    Mark fields with `Interpolated` (see `Text`) to have their `{{ }}` evaluated and checked.
    """

    id: str = Field(description="Name of the step, unique in the workflow; later steps read `steps.ID`.", min_length=1)
    type: str = Field("command", description="What sort of step it is.")
    continue_on_error: bool = Field(False, description="Go on with the next step when this one itself fails.")
    timeout: Positive | None = Field(None, description="Seconds the work may take, counted from its start.")
    retry: Retry | None = Field(None, description="Try again when the step fails.")
    env: Environment | None = Field(None, description="Environment variables for what the step starts.")
    cwd: Text | None = Field(None, description="Directory the step works in, relative to the project.")
    when: Annotated[str | bool | None, Condition()] = Field(
        None, description="Condition; the step is skipped when it is false."
    )
    lane: str | list[str] | None = Field(None, description="Lanes (named capacities) the step takes a place in.")
    workspace: Annotated[InSlot | None, BeforeValidator(_in_slot), Deep(), _IN_SLOT_SCHEMA] = Field(
        None, description="`slot`: the step works in a work tree of its own; what it makes is kept as a commit."
    )
    independent: bool = Field(
        False,
        description="The step does not depend on earlier ones: `resume --edit` keeps its result whatever they did.",
    )

    agent_key: ClassVar[str | None] = None
    """The field that names a coding agent, where the type has one."""

    model_keys: ClassVar[tuple[str, ...]] = ()
    """The fields that name models which bakeoff asks itself.

    Of a type with an `action`: where that and the first of them are left out, the workflow's own is asked.
    """

    _position: tuple[int, int] = PrivateAttr((0, 0))
    _raw: dict[str, Any] = PrivateAttr(default_factory=dict)
    _templates: dict[Any, Template] = PrivateAttr(default_factory=dict)
    _unread: set[tuple[bool, Any]] = PrivateAttr(default_factory=set)

    @property
    def position(self) -> tuple[int, int]:
        """Line and column in the file, from 1."""
        return self._position

    @property
    def raw(self) -> dict[str, Any]:
        """The step as written, as plain data."""
        return self._raw

    def note_unread(self, called: bool, word: Any) -> None:
        """Note that a word of the `argv` may begin with text that nobody has read, where the file is `called`."""
        self._unread.add((called, word))

    def unread(self, called: bool) -> frozenset[Any]:
        """The words noted."""
        return frozenset(word for where, word in self._unread if where == called)

    def place(self, raw: dict[str, Any], position: tuple[int, int]) -> None:
        """Tell the step how and where it was written."""
        self._raw, self._position = raw, position

    def template(self, field: str, *keys: str | int) -> Template:
        """The compiled template of a field, or of what stands under `keys` in it.

        Raises `ExpressionError` where an expression in it does not parse.
        """
        name = (field, *keys) if keys else field
        found = self._templates.get(name)
        if found is None:
            value = getattr(self, field)
            for key in keys:
                value = value[key]
            found = self._templates[name] = compile_template(value)
        return found

    def templates(self, field: str) -> dict[Any, Template]:
        """The compiled templates of a list or mapping field, by place or key; empty where the field is null.

        Raises `ExpressionError` where an expression in it does not parse.
        """
        value = getattr(self, field)
        keys = range(len(value)) if isinstance(value, list) else (value or ())
        return {key: self.template(field, key) for key in keys}


@cache
def marked(model: type[BaseModel], marker: type) -> tuple[tuple[str, str, Any], ...]:
    """The fields of a model that carry a marker: attribute, key in the file, the marker itself."""
    return tuple(
        (name, field.alias or name, mark)
        for name, field in model.model_fields.items()
        for mark in _metadata(field)
        if isinstance(mark, marker)
    )


def _metadata(field: Any) -> list[Any]:
    """The markers of a field, also where its annotation is `Text | None`."""
    parts = [field.annotation, *getattr(field.annotation, "__args__", ())]
    return [*field.metadata, *(mark for part in parts for mark in getattr(part, "__metadata__", ()))]


Commands = Annotated[str | list[str], ShellText()]
Names = Annotated[str | list[str], Interpolated()]
Apply = Annotated[bool | str | None, Interpolated()]


def option_field(of: type, name: str, **other: Any) -> Any:
    """The field of a step type for an option.

    The annotation of the field says which values it takes, as `Count` does; a test holds it to the option's kind.

    Args:
        of: the dataclass that declares the option.
        name: of the option, which a step may call otherwise.
        other: what is otherwise in a step, as for `pydantic.Field`: its default, for one.
    """
    default = default_of(of, name)
    least = {"min_length": 1} if other.get("default", default) is ... else {}
    given = {"default": None if default == () else default, "description": options_of(of)[name].help, **least, **other}
    return Field(given.pop("default"), **given)


def apply_field() -> Any:
    """The field `apply` of a step whose result can be taken over."""
    return Field(None, description="true: write the result into the files; a text: make a branch of that name.")
