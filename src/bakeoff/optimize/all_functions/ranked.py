"""Functions ranked by their share of the tests' time, and the event that tells how far a ranking has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.engine.events import JobEvent


@dataclass(frozen=True, slots=True)
class Ranked:
    """A function that tests reach.

    Attributes:
        path: of its file, relative to the project's root.
        qualname: its name with those of the classes around it.
        own: seconds that it takes in all tests, what it calls left out but for built-ins and functions inside of it;
            to the tenth of a millisecond, so that what takes next to nothing is not ranked by chance.
        calls: how often it is called.
    """

    path: str
    qualname: str
    own: float
    calls: int

    @property
    def target(self) -> str:
        """As `bakeoff optimize` is given it."""
        return f"{self.path}:{self.qualname}"

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {"target": self.target, "own_seconds": self.own, "calls": self.calls}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Ranked:
        """Ranked function out of what `to_json` gave."""
        path, _, qualname = str(kept["target"]).rpartition(":")
        return cls(path, qualname, kept["own_seconds"], kept["calls"])


@dataclass(slots=True)
class ProfiledTests(JobEvent):
    """Progress of the tests under the profiler.

    Attributes:
        ended: how many tests have ended.
        test: pytest's name of the one that runs.
    """

    ended: int
    test: str
