"""Judgement of a candidate's behaviour: one reason, the evidence, and the differences that it was found by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which a candidate differs from the original.

    Attributes:
        reason: one of `reasons`.
        where: the test; `recorded call` or `derived input` where no test is running.
        call: the arguments, in words.
        detail: what differs, in words: what came instead of what.
        before: the arguments, encoded, where they are known.
    """

    reason: str
    where: str
    call: str
    detail: str
    before: bytes = field(default=b"", repr=False, compare=False)

    def __str__(self) -> str:
        place = f"{self.where}: {self.call}" if self.call else self.where
        return f"{place}: {self.detail}" if place else self.detail


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a candidate behaves as the original does.

    Attributes:
        reason: why it does not, one of `reasons`; None where no difference was found.
        detail: the same in a sentence.
        receipt: the evidence; JSON types only.
        differences: what was found, the gravest first; for those who repair.
    """

    reason: str | None
    detail: str
    receipt: Mapping[str, Any]
    differences: tuple[Difference, ...] = ()

    @property
    def same(self) -> bool:
        """Whether no difference was found."""
        return self.reason is None
