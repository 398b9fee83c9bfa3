"""State of a candidate in the pipeline: judgement, speed, verdict; as JSON and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bakeoff.engine.record import Record
from bakeoff.judge.timing.speed import Speed
from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour.judgement import Difference, Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.sources.source import ProfileLine

ORIGINAL = 0
"""Number of the code as it is."""


@dataclass(slots=True)
class CandidateState:
    """A candidate with all that is known of it.

    Attributes:
        number: from 1, in the order in which they came.
        source: name of the source that proposed it.
        candidate: what it changes.
        twin: number of an earlier one, or `ORIGINAL`, that is the same in other words.
        judgement: of its behaviour.
        speed: of the last race that it was in.
    """

    number: int
    source: str
    candidate: Candidate
    twin: int | None = None
    judgement: Judgement | None = None
    speed: Speed | None = None

    @property
    def reason(self) -> str | None:
        """Reason of its verdict, one of `reasons`; None while nothing is known."""
        if self.twin is not None:
            return reasons.DUPLICATE
        if self.candidate.invalid:
            return reasons.INVALID
        if self.judgement is None:
            return None
        if self.judgement.reason is not None:
            return self.judgement.reason
        return None if self.speed is None else self.speed.verdict

    @property
    def detail(self) -> str:
        """The same in words."""
        if self.twin is not None:
            return "the original in other words" if self.twin == ORIGINAL else f"candidate {self.twin} in other words"
        if self.candidate.invalid:
            return self.candidate.invalid
        if self.judgement is not None and self.judgement.reason is not None:
            return self.judgement.detail
        return "" if self.speed is None else self.speed.detail

    @property
    def verdict(self) -> str | None:
        """`ACCEPT`, `REJECT` or `SKIP`; None while nothing is decided."""
        reason = self.reason
        if reason is None:
            return None
        if reason in reasons.SKIPPED:
            return "SKIP"
        return "ACCEPT" if reason in reasons.ACCEPTED else "REJECT"

    @property
    def file(self) -> str:
        """Name for people: the file or commit that the user named, or its origin."""
        kind, _, name = self.candidate.origin.partition("/")
        return name if kind in ("files", "refs") else self.candidate.origin

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        speed = self.speed
        receipt: dict[str, Any] = {}
        if self.judgement is not None:
            receipt["behaviour"] = dict(self.judgement.receipt)
            if self.judgement.differences:
                receipt["differences"] = [str(difference) for difference in self.judgement.differences[:20]]
        if speed is not None:
            receipt["speed"] = speed.to_json()
        shown = None if speed is None or speed.speedup is None else speed.speedup
        return {
            "number": self.number,
            "file": self.file,
            "origin": self.candidate.origin,
            "note": self.candidate.note,
            "assumes": list(self.candidate.assumes),
            "parent": self.candidate.parent,
            "verdict": self.verdict,
            "reason": self.reason,
            "detail": self.detail,
            "speedup": None if shown is None else {"estimate": shown.estimate, "low": shown.low, "high": shown.high},
            "receipt": receipt,
        }


def kept_judgement(judgement: Judgement) -> dict[str, Any]:
    """As a run keeps it."""
    differences = [[one.reason, one.where, one.call, one.detail] for one in judgement.differences]
    return {
        "reason": judgement.reason,
        "detail": judgement.detail,
        "receipt": judgement.receipt,
        "differences": differences,
    }


def judgement_of(record: Record) -> Judgement:
    """Judgement out of what `kept_judgement` gave."""
    kept = record.output
    return Judgement(
        kept["reason"], kept["detail"], kept["receipt"], tuple(Difference(*each) for each in kept["differences"])
    )


def profile_of(record: Record) -> tuple[ProfileLine, ...]:
    """The lines that a profile's node has."""
    return tuple(ProfileLine(*row) for row in record.output["lines"])
