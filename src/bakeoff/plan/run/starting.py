"""Where subplans start: on the tip of their round, with what they wait for merged on top of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bakeoff.plan.merge.chain import Change, Merger, Point, Step


@dataclass(slots=True)
class Starts:
    """Makes starting points. What is made once is found again; it blocks.

    Attributes:
        merger: merges.
        say: told in words what could not be merged.
    """

    merger: Merger
    say: Callable[[str], None]
    _steps: dict[tuple[str, str], Step] = field(default_factory=dict)
    _dates: dict[str, int] = field(default_factory=dict)

    def start(self, tip: Point, needed: Sequence[Change]) -> tuple[Point, tuple[str, ...]]:
        """The tip with these on top, in order, and the names of those that are in it.

        One that conflicts with those before it is left out, and that is said.
        """
        at, names = tip, []
        for change in needed:
            key = at.commit, change.commit
            if key not in self._steps:
                self._steps[key] = self.merger.step(at, change, self._date(change))
            step = self._steps[key]
            if step.point is None:
                paths = ", ".join(clash.path for clash in step.left[:5]) or "a lockfile"
                self.say(f"{change.name} is left out of what later subplans start from: it conflicts in {paths}")
                continue
            at = step.point
            names.append(change.name)
        return at, tuple(names)

    def _date(self, change: Change) -> int:
        if change.commit not in self._dates:
            self._dates[change.commit] = self.merger.point(change.commit).date
        return self._dates[change.commit]
