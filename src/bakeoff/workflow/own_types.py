"""Loads the step types that a project's settings name."""

from __future__ import annotations

from pathlib import Path

from bakeoff.errors import BakeoffError
from bakeoff.settings import Settings
from bakeoff.workflow.step_type import StepTypes

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
