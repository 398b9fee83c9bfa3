"""Protocol of a judge: what the pipeline asks of whoever judges candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bakeoff.judge.timing.speed import Speed
from bakeoff.optimize.behaviour.judgement import Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.context.observed import Observed
from bakeoff.optimize.sources.source import ProfileLine


class Judge(Protocol):
    """Judges behaviour and speed of candidates."""

    @property
    def tests_winners(self) -> bool:
        """Whether winners are tested once more as they would be applied; commands judge all of them so."""
        ...

    async def begin(self) -> None:
        """See that candidates can be judged, before any is paid for."""
        ...

    async def behaviour(self, candidate: Candidate) -> Judgement:
        """Whether it behaves as the original."""
        ...

    async def race(self, candidates: Mapping[int, Candidate], earlier: int = 0) -> Mapping[int, Speed]:
        """Speeds by number, after `earlier` races in which this could not be decided."""
        ...

    async def as_applied(self, candidate: Candidate, judgement: Judgement) -> Judgement:
        """The judgement of a winner, with what the tests add to it when they are run as it would be applied."""
        ...

    async def profile(self, candidate: Candidate | None) -> Sequence[ProfileLine]:
        """Time of each line of a candidate; of the original where it is None."""
        ...

    async def observed(self) -> Observed:
        """Types and examples of the original's calls, as the tests make them."""
        ...
