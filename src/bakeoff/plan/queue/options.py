"""What a merge was asked for; it stands on the run's record, so that the run can be resumed by it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.plan.merge.rules import Rules
from bakeoff.settings import Settings


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """See `bakeoff merge --help`.

    Attributes:
        refs: what to merge, in plan order.
        checks: shell commands that must end with exit status 0.
        base: the commit to merge onto.
        strategy, width, union, lockfiles, structured: see `MergeSettings`, which they come from where they are None.
        tested: what is merged is known to pass by itself, so that it is not tested alone.
        check_timeout: seconds for one check.
        sandbox: what protects from what is tested; None for the setting.
        preflight: whether the checks are run on the base before anything else is tested.
    """

    refs: tuple[str, ...]
    checks: tuple[str, ...]
    base: str = "HEAD"
    strategy: str | None = None
    width: int | None = None
    union: tuple[str, ...] | None = None
    lockfiles: tuple[tuple[str, str], ...] | None = None
    structured: bool | None = None
    tested: bool = False
    check_timeout: float | None = None
    sandbox: str | None = None
    preflight: bool = True

    def __post_init__(self) -> None:
        if not self.checks:
            raise BakeoffError("there is nothing to verify by: give a --check, as in --check 'pytest -q'")
        if not all(command.strip() for command in self.checks):
            raise BakeoffError("a --check is empty: an empty command passes whatever was merged")
        seconds = self.check_timeout
        if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
            raise BakeoffError(f"--check-timeout must be a number of seconds above 0, not {seconds}")

    def settled(self, settings: Settings) -> MergeOptions:
        """The same with what the settings say where nothing was asked for."""
        names = ("strategy", "width", "union", "lockfiles", "structured")
        said = {name: getattr(settings.merge, name) for name in names if getattr(self, name) is None}
        return replace(self, **said, sandbox=self.sandbox or settings.sandbox)

    @property
    def rules(self) -> Rules:
        """What is tried before a clash counts as a conflict."""
        return Rules(self.union or (), self.lockfiles or (), self.structured is not False)

    def to_json(self) -> dict[str, Any]:
        """As the run keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> MergeOptions:
        """What `to_json` gave; what a later version added has its default."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: _tuples(value) for name, value in kept.items() if name in names})


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value
