"""Recording of hostile calls: what the original does with arguments of kinds that no test shows."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.optimize.behaviour.annotations import Annotations
from bakeoff.optimize.behaviour.baseline import Baseline, Recorded
from bakeoff.optimize.behaviour.differences import DIGEST
from bakeoff.optimize.behaviour.hostile_inputs import hostile_calls
from bakeoff.optimize.behaviour.original import Asked, Original
from bakeoff.optimize.behaviour.runs import Call
from bakeoff.optimize.source_code.definitions import locate
from bakeoff.workspace.blocking import in_thread

SECONDS = 0.25
"""Seconds of one call of the original; what takes it longer (it may never end) says nothing."""
LIMITS = ("MemoryError", "RecursionError")
"""Exceptions that depend on the machine and on what is called, and not on what is given back."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """Hostile calls that give the same each time.

    Attributes:
        recorded: the calls, with what comes of them.
        evidence: what the original does besides computing when they are made.
    """

    recorded: tuple[Recorded, ...] = ()
    evidence: frozenset[tuple[str, str]] = frozenset()


async def record_hostile(original: Original, baseline: Baseline) -> Hostile:
    """Make hostile calls of the recorded ones, and ask the original.

    Passes on BehaviourError: it cannot be loaded.
    """
    definition = locate(baseline.source, baseline.target.qualname, str(baseline.target.path))
    seen = {
        call.before: call.expected.result
        for call in baseline.recorded
        if not call.derived and not call.expected.result.startswith(DIGEST)
    }
    calls = await in_thread(hostile_calls, seen, Annotations(definition.node))
    if not calls:
        return Hostile()
    _, recorded, _ = await original.repeatable(baseline, [Asked(call, SECONDS, derived=True) for call in calls], _fits)
    return Hostile(tuple(recorded), frozenset(original.evidence))


def _fits(call: Asked, answer: Call) -> bool:
    return answer.kind != "raise" or answer.type not in LIMITS
