"""Elimination: who is still worth measuring. Rounds of pairs go in; nothing here measures: it can be simulated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from bakeoff.judge.timing.statistics import MedianSequence

PRUNE = 0.05
"""How often any contender may be dropped wrongly, over the whole race."""
TOO_SLOW = "not fast enough"
ALIKE = 1.02
"""Rivals closer than this are not worth telling apart."""
OF_ORIGINAL, MOST_ALIKE = 0.01, 1.1
"""Nor those whose times differ by less than this share of the original's, unless the one is this much faster."""


class Elimination:
    """Contenders that are measured in rounds until one is left, or the rest is not worth telling apart.

    Attributes:
        alive: those that still are, in the order given.
        out: why the others are not.
        beaten: those of them that were dropped for nothing but a faster rival.
    """

    def __init__(self, names: Iterable[str], floor: float) -> None:
        """Begin.

        Args:
            names: of the contenders.
            floor: logarithm of the least speed-up that counts.
        """
        self.alive = list(names)
        self.out: dict[str, str] = {}
        self.beaten: list[str] = []
        self.floor = floor
        count = len(self.alive)
        self.single = PRUNE / max(1, count)
        self.paired = PRUNE / max(1, count * (count - 1) // 2)
        self.ratios = {name: MedianSequence(self.single) for name in self.alive}
        self.rivals: dict[tuple[str, str], MedianSequence] = {}

    def add(self, ratios: Mapping[str, float]) -> None:
        """Take the logarithms of one round, and drop who cannot win."""
        names = [name for name in self.alive if name in ratios]
        for name in names:
            self.ratios[name].add(ratios[name])
        for place, one in enumerate(names):
            for other in names[place + 1 :]:
                known = self.rivals.get((one, other))
                if known is None:
                    known = self.rivals[one, other] = MedianSequence(self.paired)
                known.add(ratios[one] - ratios[other])
        for name in names:
            if self.ratios[name].high(self.single) < self.floor:
                self.drop(name, TOO_SLOW)
        for (one, other), difference in self.rivals.items():
            if one in self.alive and other in self.alive:
                if difference.high(self.paired) < 0:
                    self._beat(one, other)
                elif difference.low(self.paired) > 0:
                    self._beat(other, one)

    def drop(self, name: str, why: str) -> None:
        """Measure it no longer."""
        if name in self.alive:
            self.alive.remove(name)
            self.out[name] = why

    def _beat(self, name: str, rival: str) -> None:
        self.drop(name, f"slower than candidate {rival}")
        self.beaten.append(name)

    @property
    def leader(self) -> str | None:
        """Fastest so far, of those alive; None where nobody is."""
        known = [name for name in self.alive if len(self.ratios[name])]
        return max(known, key=lambda name: self.ratios[name].median, default=None)

    @property
    def settled(self) -> bool:
        """Whether more rounds are not worth their time.

        Nobody is left; or the leader is fast enough, and no rival is better by more than what counts.
        """
        leader = self.leader
        if not self.alive:
            return True
        if leader is None or self.ratios[leader].low(self.single) <= self.floor:
            return False
        enough = alike(self.ratios[leader].median)
        return all(self._no_better(name, leader, enough) for name in self.alive if name != leader)

    def _no_better(self, name: str, leader: str, enough: float) -> bool:
        known = self.rivals.get((name, leader))
        if known is not None:
            return known.high(self.paired) < enough
        known = self.rivals.get((leader, name))
        return known is not None and known.low(self.paired) > -enough


def alike(speedup: float) -> float:
    """Lead that a rival may have over a leader of this speed-up without being worth the wait; both logarithms."""
    gain = 1 + OF_ORIGINAL * math.exp(min(speedup, 50.0))
    return math.log(min(MOST_ALIKE, max(ALIKE, gain)))
