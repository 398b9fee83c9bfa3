"""What a ranking tells while it runs the tests."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.engine.events import JobEvent


@dataclass(slots=True)
class ProfiledTests(JobEvent):
    """The tests go on under the profiler.

    Attributes:
        ended: how many tests have ended.
        test: pytest's name of the one that runs.
    """

    ended: int
    test: str
