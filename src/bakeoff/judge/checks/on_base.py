"""Baseline of a check: what it came to where nothing was changed, kept so that it is run there once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.judge.checks.runner_output import Tests

MOST_TESTS = 100_000
"""Names of tests that are kept; with more of them the check is run once more when they are needed."""


@dataclass(frozen=True, slots=True)
class OnBase:
    """Result of a check on the snapshot.

    Attributes:
        exit_code: None where it was not run.
        tests: None where nobody can say which ran.
        limit: seconds after which it was ended; None where it ended by itself.
    """

    exit_code: int | None
    tests: Tests | None
    limit: float | None = None

    def receipt(self) -> dict[str, Any]:
        """For the receipts of attempts that are compared with it."""
        return {"exit_code": self.exit_code, "tests": "unknown" if self.tests is None else self.tests.to_json()}

    def to_json(self) -> dict[str, Any] | None:
        """As a run keeps it; None where it is too much to be kept."""
        tests = self.tests
        if tests is None:
            return {"exit_code": self.exit_code, "limit": self.limit, "tests": None}
        if len(tests.names) + len(tests.left_out) > MOST_TESTS:
            return None
        names = {"names": sorted(tests.names), "left_out": sorted(tests.left_out)}
        return {"exit_code": self.exit_code, "limit": self.limit, "tests": tests.to_json() | names}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any] | None) -> OnBase | None:
        """Back from what `to_json` gave."""
        if kept is None:
            return None
        tests = kept["tests"]
        if tests is not None:
            sets = {name: frozenset(tests.get(name, ())) for name in ("names", "left_out")}
            tests = Tests(**{**tests, **sets, "failing": tuple(tests.get("failing", ()))})
        return cls(kept["exit_code"], tests, kept["limit"])
