"""Inputs of a workflow: which values they may have, and where they come from."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bakeoff.engine.mask import Masker
from bakeoff.errors import BakeoffError
from bakeoff.system.named_files import read_named
from bakeoff.workflow.file_model import InputDeclaration
from bakeoff.workflow.problems import quoting, shown, suggestion

_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})


def coerce(declaration: InputDeclaration, value: Any) -> Any:
    """`value` in the type that is declared.

    Raises:
        ValueError: it cannot be; the text says what is wanted.
    """
    result = _COERCIONS[declaration.type](value)
    if declaration.enum is not None and not any(_same(result, allowed) for allowed in declaration.enum):
        raise ValueError(f"must be one of {', '.join(map(str, declaration.enum))}, not {shown(result)}")
    return result


def _same(value: Any, allowed: Any) -> bool:
    return bool(value == allowed) and isinstance(value, bool) == isinstance(allowed, bool)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be text, not {shown(value)}{quoting(value)}")
    return value


def _number(value: Any) -> int | float:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
    try:
        number = float(value) if isinstance(value, (str, float)) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"must be a number, not {shown(value)}")
    return int(number) if number.is_integer() else number


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word not in _TRUE | _FALSE:
        raise ValueError(f"must be true or false, not {shown(value)}")
    return word in _TRUE


_COERCIONS: dict[str, Callable[[Any], Any]] = {"string": _string, "number": _number, "boolean": _boolean}


def resolve_inputs(
    declarations: Mapping[str, InputDeclaration],
    given: Mapping[str, Any],
    project: Path | None = None,
    masker: Masker | None = None,
) -> dict[str, Any]:
    """The value of every input: what is given, else its default; an input with neither is left out.

    Args:
        declarations: the inputs of the workflow.
        given: values from outside; those that are not declared are dropped; `undeclared` names them.
        project: the project's directory, for `integration: auto`.
        masker: the secrets, whose values no message may show.

    Raises:
        BakeoffError: values are missing or wrong; the text lists all of them.
    """
    values: dict[str, Any] = {}
    wrong: list[str] = []
    for name, declaration in declarations.items():
        value = given.get(name, declaration.default)
        if value is None:
            if declaration.required and name not in given:
                wrong.append(f"required input `{name}` is not provided; give it with -i {name}=VALUE")
                continue
            if name not in given:
                continue
        if name == "integration" and value == "auto":
            found = project_integration(project)
            if found is None:
                values[name] = value
                continue
            value = found
        try:
            values[name] = coerce(declaration, value)
        except ValueError as failure:
            secret = masker is not None and masker.text(str(value)) != str(value)
            wrong.append(f"input `{name}` {_unshown(declaration) if secret else failure}")
    if wrong:
        raise BakeoffError("\n".join(wrong))
    return values


def _unshown(declaration: InputDeclaration) -> str:
    wanted = "one of the values allowed" if declaration.enum is not None else f"a {declaration.type}"
    return f"must be {wanted}; what is given holds a secret and is not shown"


def undeclared(declarations: Mapping[str, InputDeclaration], given: Iterable[str]) -> list[str]:
    """Warnings on names that are given and that the workflow does not declare."""
    return [
        f"there is no input `{name}`{suggestion(name, declarations) or '; its value is dropped'}"
        for name in given
        if name not in declarations
    ]


def mistyped(declarations: Mapping[str, InputDeclaration], given: Iterable[str]) -> bool:
    """Whether a name that is given is not declared, but one like it is."""
    return any(name not in declarations and suggestion(name, declarations) for name in given)


def project_integration(project: Path | None) -> str | None:
    """The agent that the project is set up for, as `.specify/integration.json` says; None if it does not."""
    if project is None:
        return None
    try:
        data = json.loads(read_named(project / ".specify" / "integration.json").decode())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    schema = data.get("integration_state_schema")
    if isinstance(schema, int | float) and schema > 1:
        return None  # what a later spec-kit means by its keys is not known
    names = (data.get(key) for key in ("default_integration", "integration"))
    return next((name.strip() for name in names if isinstance(name, str) and name.strip()), None)
