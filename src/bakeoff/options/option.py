"""Options of a job or a settings table, declared once: each is a field of a dataclass, with kind and help.

From the declarations come the options of the command line, the fields of step types and their JSON Schema, the checks
of settings tables, the keys of plan files, and the checks of what is given in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from typing import Any, Self, TypeVar

from bakeoff.errors import BakeoffError
from bakeoff.options.kinds import Check, Kind, Whole

_KEY = "option"
Restored = TypeVar("Restored")


@dataclass(frozen=True, slots=True)
class Option:
    """Declaration of an option.

    Attributes:
        kind: which values it takes; or a function that does what a kind does, where values are of no usual kind.
        help: one sentence that says what it does, for the command line, steps and schemas alike. It names other
            options of the same dataclass in backticks; help of commands has their flags in that place.
        flag: what it is called on a command line; None for its name behind `--`.
        metavar: what stands for its value there.
    """

    kind: Kind | Check
    help: str
    flag: str | None = None
    metavar: str | None = None

    def flag_of(self, name: str) -> str:
        """Flag of the option called `name` on a command line."""
        return self.flag or f"--{name.replace('_', '-')}"


def option(default: Any, kind: Kind | Check, help: str, *, flag: str | None = None, metavar: str | None = None) -> Any:
    """A field of a dataclass that is an option. See `Option`.

    Args:
        default: its value where none is given; `...`: it must be given; a class, such as `dict`: a new one of it.
        kind: which values it takes.
        help: one sentence.
        flag: what it is called on a command line.
        metavar: what stands for its value there.
    """
    return shared(default, Option(kind, help, flag, metavar))


def shared(default: Any, declared: Option) -> Any:
    """A field of a dataclass that is an option which others have, too."""
    if isinstance(default, type):
        return field(default_factory=default, metadata={_KEY: declared})
    return field(default=MISSING if default is ... else default, metadata={_KEY: declared})


def options_of(of: type) -> Mapping[str, Option]:
    """The options that a dataclass declares, by name."""
    return {one.name: one.metadata[_KEY] for one in fields(of) if _KEY in one.metadata}


def default_of(of: type, name: str) -> Any:
    """The default of an option; `...` where it must be given."""
    found: Field[Any] = next(one for one in fields(of) if one.name == name)
    return ... if found.default is MISSING else found.default


def check_values(given: Any, *, flags: bool = True, error: type[Exception] = BakeoffError) -> None:
    """Refuse a dataclass of options of which one has a value that its kind does not take. None counts as not given.

    Args:
        given: the options.
        flags: whether messages call an option as a command line does, or by its name.
        error: what is raised, as `error.__init__(message)`; the message says which is wrong and what is allowed.
    """
    for name, declared in options_of(type(given)).items():
        value = getattr(given, name)
        if value is None:
            continue
        try:
            declared.kind(value)
        except ValueError as failure:
            called = declared.flag_of(name) if flags else name
            raise error(f"{called} must be {_allowed(declared.kind, value, failure)}, not {value!r}") from None


def _allowed(kind: Kind | Check, value: Any, failure: ValueError) -> str:
    return f"at least {kind.least}" if isinstance(kind, Whole) and type(value) is int else str(failure)


@dataclass(frozen=True, slots=True)
class Options:
    """Options that a job was asked for. They stand on the run's record, so that the run can be resumed by them."""

    def to_json(self) -> dict[str, Any]:
        """As the run keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Options from what `to_json` gave. Passes on BakeoffError: a value is wrong."""
        return restored(cls, kept)


def restored(of: type[Restored], kept: Mapping[str, Any]) -> Restored:
    """A dataclass from its values as JSON: lists become tuples, what a later version added has its default."""
    names = {one.name for one in fields(of)}  # type: ignore[arg-type]
    return of(**{name: _tuples(value) for name, value in kept.items() if name in names})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
