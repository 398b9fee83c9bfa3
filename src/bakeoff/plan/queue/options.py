"""Options of a merge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.errors import BakeoffError
from bakeoff.jobs.options import CHECK_TIMEOUT, CHECKS, SANDBOX
from bakeoff.options.kinds import Flag, Text
from bakeoff.options.option import Options, check_values, option, options_of, shared
from bakeoff.settings.merge import MergeSettings

if TYPE_CHECKING:
    from bakeoff.plan.merge.rules import Rules
    from bakeoff.settings import Settings

_SETTINGS = options_of(MergeSettings)


@dataclass(frozen=True, slots=True)
class MergeOptions(Options):
    """Options of a merge; what the settings have, too, comes from there where it is None.

    Attributes:
        refs: what to merge, in plan order.
    """

    refs: tuple[str, ...]
    checks: tuple[str, ...] = shared(..., CHECKS)
    base: str = option("HEAD", Text(), "The commit to merge onto.", metavar="REF")
    strategy: str | None = shared(None, _SETTINGS["strategy"])
    width: int | None = shared(None, _SETTINGS["width"])
    union: tuple[str, ...] | None = shared(None, _SETTINGS["union"])
    lockfiles: tuple[tuple[str, str], ...] | None = shared(None, _SETTINGS["lockfiles"])
    structured: bool | None = shared(None, _SETTINGS["structured"])
    tested: bool = option(False, Flag(), "They are known to pass by themselves: do not test each alone first.")
    check_timeout: float | None = shared(None, CHECK_TIMEOUT)
    sandbox: str | None = shared(None, SANDBOX)
    preflight: bool = option(
        True,
        Flag(),
        "Run the checks on the base before anything else; without it what is merged may bring what a check needs.",
    )

    def __post_init__(self) -> None:
        if not self.checks:
            raise BakeoffError("there is nothing to verify by: give a --check, as in --check 'pytest -q'")
        if not all(command.strip() for command in self.checks):
            raise BakeoffError("a --check is empty: an empty command passes whatever was merged")
        check_values(self)

    def settled(self, settings: Settings) -> MergeOptions:
        """The same with what the settings say where nothing was asked for."""
        names = ("strategy", "width", "union", "lockfiles", "structured")
        said = {name: getattr(settings.merge, name) for name in names if getattr(self, name) is None}
        return replace(self, **said, sandbox=self.sandbox or settings.sandbox)

    @property
    def rules(self) -> Rules:
        """Rules that are tried before a clash counts as a conflict."""
        from bakeoff.plan.merge.rules import Rules

        return Rules(self.union or (), self.lockfiles or (), self.structured is not False)
