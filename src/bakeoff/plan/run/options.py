"""Options of carrying a plan out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from bakeoff.options.option import Options, check_values, options_of, shared
from bakeoff.plan.errors import PlanError
from bakeoff.settings.plan import PlanSettings

_SETTINGS = options_of(PlanSettings)


@dataclass(frozen=True, slots=True)
class SubplanConfig(Options):
    """Configuration of how subplans are carried out: the same options as in the settings, as one plan has them.

    Attributes:
        execution_mode: `sequential` one after the other, each on top of those before it; `parallel` whatever they wait
            for; `dependency_ordered` each as soon as those that it waits for have ended.
        on_conflict: `reopen` gives it back to its owner, on the new tip and with both diffs; `leave_out` lands the
            rest; `ours_first` lands it without what conflicts; `fail` lands nothing.
    """

    execution_mode: str = shared("dependency_ordered", _SETTINGS["execution_mode"])
    max_parallel: int = shared(5, _SETTINGS["max_parallel"])
    fail_fast: bool = shared(False, _SETTINGS["fail_fast"])
    max_retries: int = shared(0, _SETTINGS["max_retries"])
    timeout_per_subplan: float | None = shared(None, _SETTINGS["timeout_per_subplan"])
    on_conflict: str = shared("reopen", _SETTINGS["on_conflict"])
    max_reopened: int = shared(1, _SETTINGS["max_reopened"])

    def __post_init__(self) -> None:
        check_values(self, flags=False, error=PlanError)

    @classmethod
    def of(cls, settings: PlanSettings, given: Mapping[str, Any]) -> SubplanConfig:
        """Options as given, for the rest as the settings say; None counts as not given. Passes on PlanError."""
        values: dict[str, Any] = {one.name: getattr(settings, one.name) for one in fields(cls)}
        return cls(**{name: value if given.get(name) is None else given[name] for name, value in values.items()})

    @property
    def strategy(self) -> str:
        """Strategy of the merge queue in a conflict."""
        return {"ours_first": "ours_first", "fail": "fail_on_conflict"}.get(self.on_conflict, "three_way")
