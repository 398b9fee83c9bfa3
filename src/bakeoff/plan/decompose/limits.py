"""Limits of a leaf: files and tokens."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.options.option import check_values
from bakeoff.plan.errors import DecomposeError
from bakeoff.settings.plan import PlanSettings


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

    Passes on DecomposeError: one is out of its range; it is named.
    """
    check_values(config, flags=False, error=DecomposeError)
