"""Time and chance as the engine sees them; simulation hands in its own."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: one for display that may jump, one for durations that never goes back."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        ...


class SystemClock:
    """The machine's own clocks."""

    wall = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


class SteadyClock:
    """A clock whose wall time never goes back: where the other's does (it was set), it goes on from where it was.

    Args:
        clock: the other.
        reached: wall time that was told before, say by an earlier session.
    """

    def __init__(self, clock: Clock, reached: float = 0.0) -> None:
        self._clock = clock
        self._ahead = max(0.0, reached - clock.wall())
        self._told, self._then = reached, clock.monotonic()

    def wall(self) -> float:
        """See `Clock`."""
        wall, now = self._clock.wall() + self._ahead, self._clock.monotonic()
        if wall < self._told:
            self._ahead += self._told + (now - self._then) - wall
            wall = self._told + (now - self._then)
        self._told, self._then = wall, now
        return wall

    def monotonic(self) -> float:
        """See `Clock`."""
        return self._clock.monotonic()
