"""Limits of a leaf: files and tokens."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.plan.errors import DecomposeError
from bakeoff.settings.plan import SPLITS, PlanSettings


@dataclass(frozen=True, slots=True)
class Limits:
    """The most files and tokens of a leaf; one file alone always fits."""

    files: int
    tokens: int

    def fit(self, files: int, tokens: int) -> bool:
        """Whether so much may be one leaf."""
        return files <= 1 or (files <= self.files and tokens <= self.tokens)

    def weight(self, files: int, tokens: int) -> float:
        """Fill of a leaf of so much; 1 is full."""
        return max(files / self.files, tokens / self.tokens)


def hard_limits(config: PlanSettings) -> Limits:
    """Limits that no leaf may exceed."""
    return Limits(config.max_files_per_subplan, config.max_tokens_per_subplan)


def aimed_at(config: PlanSettings) -> Limits:
    """Limits that a part is split down to."""
    if config.split == "deep":
        files = min(config.min_files_per_subplan, config.max_files_per_subplan)
        return Limits(files, config.max_tokens_per_subplan)
    return hard_limits(config)


def check(config: PlanSettings) -> None:
    """Refuse settings that nothing can be split by.

    Raises:
        DecomposeError: one is out of its range; it is named.
    """
    least = {"max_children": 2}
    for name in (
        "max_files_per_subplan",
        "max_tokens_per_subplan",
        "min_files_per_subplan",
        "max_depth",
        "max_children",
    ):
        if getattr(config, name) < least.get(name, 1):
            raise DecomposeError(f"{name} must be at least {least.get(name, 1)}, not {getattr(config, name)}")
    if not config.cohesion >= 0:
        raise DecomposeError(f"cohesion must be a number from 0, not {config.cohesion}")
    if config.split not in SPLITS:
        raise DecomposeError(f"split must be one of {', '.join(SPLITS)}, not {config.split!r}")
