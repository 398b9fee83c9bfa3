"""Custom step types: their contract, and the registry that finds them, installed or in a file of the project's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bakeoff.errors import BakeoffError
from bakeoff.workflow.models import StepModel
from bakeoff.workflow.step_models import BUILT_IN, UNTRUSTED

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from bakeoff.settings import Settings

GROUP = "bakeoff.step_types"
"""Entry point group in which a package names its step types: `name = "module:Class"`."""


class StepType(Protocol):
    """A step type written in Python.

    One instance serves every step of the type, from many items at once: keep no state in `self`.

    Attributes:
        name: the `type:` that a workflow file says.
        model: its fields; derives from `StepModel`.
        untrusted: whether its output is text that nobody has read, such as an agent's. May be left out.
        container: whether its steps hold other nodes. May be left out. Such a step is no leaf and holds no place: its
            `run` takes the `NodeContext` of the step, runs what the step holds as leaves of `context.run` with paths
            below `context.path`, commits the step's own record, and returns why nothing may follow it (see
            `Container`).
        retries: of a container: whether it does itself what the step's `retry` says.
        key_now: of a container: the key of the step at a `NodeContext`, were it to begin now. May be left out: then
            `resume --edit --explain` says that it runs.
        check: what is wrong with a step besides its fields, given the step as written: pairs of a key (None for the
            step as a whole, a tuple for a place inside a key) and a message. May be left out.
    """

    name: str
    model: type[StepModel]

    def run(self, step: Any, context: Any) -> Any:
        """Do the work of one step and return its outcome; may be `async`.

        Args:
            step: an instance of `model`.
            context: what the interpreter offers: evaluating templates, running processes, the names.
        """
        ...


class StepTypes:
    """The step types known: built-in, registered and, looked up once a name is unknown, those of packages."""

    def __init__(self, custom: Iterable[StepType] = (), *, discover: bool = True) -> None:
        self._custom: dict[str, StepType] = {}
        self._installed: dict[str, EntryPoint] | None = None if discover else {}
        for step_type in custom:
            self.register(step_type)

    def register(self, step_type: StepType) -> None:
        """Add a step type.

        Raises:
            BakeoffError: its name is taken, or it has no model.
        """
        name = getattr(step_type, "name", None)
        model = getattr(step_type, "model", None)
        if not isinstance(name, str) or not name:
            raise BakeoffError(f'the step type {step_type!r} has no name; give its class `name = "..."`')
        if not (isinstance(model, type) and issubclass(model, StepModel)):
            raise BakeoffError(f"the step type `{name}` has no model; give its class `model`, derived from StepModel")
        if not callable(getattr(step_type, "run", None)):
            raise BakeoffError(f"the step type `{name}` has no method `run(self, step, context)`")
        if name in BUILT_IN or name in self._custom:
            raise BakeoffError(f"there is a step type `{name}` already; choose another name")
        self._custom[name] = step_type

    def model(self, name: str) -> type[StepModel] | None:
        """The fields of a step type; None when there is none of that name.

        Raises `BakeoffError` where it is installed and cannot be loaded.
        """
        if name in BUILT_IN:
            return BUILT_IN[name]
        custom = self.custom(name)
        return custom.model if custom else None

    def custom(self, name: str) -> StepType | None:
        """The step type written in Python of that name, if there is one.

        Raises `BakeoffError` where it is installed and cannot be loaded.
        """
        if name not in self._custom and name in self._entries():
            self._load(self._entries()[name])
        return self._custom.get(name)

    def container(self, name: str) -> StepType | None:
        """The step type of that name, if it was written in Python and its steps hold other nodes."""
        found = self.custom(name)
        return found if found is not None and getattr(found, "container", False) else None

    def untrusted(self, name: str) -> bool:
        """Whether the output of a step type is text that nobody has read."""
        return name in UNTRUSTED or bool(getattr(self._custom.get(name), "untrusted", False))

    def registered(self) -> list[str]:
        """The step types that were registered, or loaded so far."""
        return sorted(self._custom)

    def names(self) -> list[str]:
        """Every step type there is."""
        return sorted({*BUILT_IN, *self._custom, *self._entries()})

    def _entries(self) -> dict[str, EntryPoint]:
        if self._installed is None:
            # Imported here because it costs 15 ms that a file of built-in steps need not pay.
            from importlib.metadata import entry_points

            self._installed = {entry.name: entry for entry in entry_points(group=GROUP)}
        return self._installed

    def _load(self, entry: EntryPoint) -> None:
        try:
            found = entry.load()
            self.register(found() if isinstance(found, type) else found)
        except (Exception, SystemExit) as failure:
            raise BakeoffError(f"the step type `{entry.name}` ({entry.value}) cannot be loaded: {failure}") from failure
        if entry.name not in self._custom:
            raise BakeoffError(f"the step type installed as `{entry.name}` ({entry.value}) calls itself something else")


_types: dict[Path | None, StepTypes] = {}


def step_types(settings: Settings) -> StepTypes:
    """The step types of a project; the file that its settings name is loaded once.

    Passes on BakeoffError: that file cannot be loaded.
    """
    found = _types.get(settings.step_types)
    if found is None:
        found = StepTypes()
        if settings.step_types is not None:
            _load_types(settings.step_types, found)
        _types[settings.step_types] = found
    return found


def _load_types(file: Path, types: StepTypes) -> None:
    """Register every step type that a Python file defines.

    Raises:
        BakeoffError: it cannot be run, or defines none.
        KeyboardInterrupt: somebody pressed Ctrl-C meanwhile.
    """
    import runpy

    try:
        names = runpy.run_path(str(file))
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # also SystemExit, which would end the command as if all were well
        raise BakeoffError(f"step types {file}: {type(failure).__name__}: {failure}") from failure
    found = [
        value
        for value in names.values()
        if isinstance(value, type)
        and value.__module__ == "<run_path>"
        and hasattr(value, "model")
        and hasattr(value, "run")
    ]
    if not found:
        raise BakeoffError(f"step types {file}: it defines no class with `name`, `model` and `run`")
    for kind in found:
        types.register(kind())
