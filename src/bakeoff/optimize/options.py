"""What an optimisation was asked for; it stands on the run's record, so that the run can be resumed by it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from bakeoff.engine.errors import BakeoffError


@dataclass(frozen=True, slots=True)
class OptimizeOptions:
    """See `bakeoff optimize --help`.

    Attributes:
        target: `pkg/mod.py:Class.method`, relative to the project's root.
        candidates: files that the user brings: whole new versions of the target's file, or patches.
        refs: commits that the user brings, by any name that git knows.
        rules: whether the rewriting rules propose.
        refinements: how often winners go back to their sources.
        parallel: candidates whose behaviour is judged at once; None for the processors that may be used.
        min_speedup: what the lower bound of the speed-up must reach.
        seconds: of measuring for one race.
        seed: of everything that is left to chance.
        inputs: `derived` or `recorded`: see `BehaviourOptions`, as for `tests`, `trust`, `cold`.
        level: of the sandbox; None for the setting.
        memory: whether peak memory is measured, too.
        base: a commit to start from; None for the work tree as it is.
    """

    target: str
    candidates: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    rules: bool = True
    refinements: int = 3
    parallel: int | None = None
    min_speedup: float = 1.05
    seconds: float = 20.0
    seed: int = 0
    inputs: str = "derived"
    tests: tuple[str, ...] = ()
    trust: bool = False
    cold: bool = False
    level: str | None = None
    memory: bool = False
    base: str | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.min_speedup) and self.min_speedup >= 1):
            raise BakeoffError(f"--min-speedup must be a number from 1, not {self.min_speedup}")
        if not (self.rules or self.candidates or self.refs):
            raise BakeoffError("there is nothing to try: give --candidate or --ref, or leave --no-rules out")

    def to_json(self) -> dict[str, Any]:
        """As the run keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> OptimizeOptions:
        """What `to_json` gave; what a later version added has its default."""
        names = {field.name for field in fields(cls)}
        found: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()
        }
        return cls(**{name: value for name, value in found.items() if name in names})
