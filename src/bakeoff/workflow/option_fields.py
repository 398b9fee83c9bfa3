"""Fields of step types, from the options that a job declares: default and description come from there."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from bakeoff.options.option import default_of, options_of
from bakeoff.workflow.models import Interpolated, ShellText

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
