"""What is known of a candidate so far, and why its process did not answer any more."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field

from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour.baseline import Baseline
from bakeoff.optimize.behaviour.compare import OF_ENDING, arguments_of, of_process
from bakeoff.optimize.behaviour.findings import Replay, TestRun, Watched
from bakeoff.optimize.behaviour.judgement import Difference

GRAVE = frozenset(reasons.PRECEDENCE[: reasons.PRECEDENCE.index(reasons.FLAKY)])
"""What ends a judging at once; other evidence could only be less grave."""
WHILE_IMPORTED = "while it is imported"


@dataclass(slots=True)
class Found:
    """What is known so far."""

    differences: list[Difference] = field(default_factory=list)
    wrote: set[str] = field(default_factory=set)
    peak: int = 0
    processes: int = 0
    tests: int = 0
    passed: int = 0
    compared: int = 0
    repeated: int = 0
    derived: int = 0
    here: list[str] = field(default_factory=list)
    made: set[bytes] = field(default_factory=set)
    """Arguments of the calls that were made in tests: one that fails ends its test, so that others are not made."""

    @property
    def grave(self) -> bool:
        """Whether there is evidence that ends the judging."""
        return any(difference.reason in GRAVE for difference in self.differences)

    def watch(
        self, watched: Watched | None, baseline: Baseline, where: str, known: Collection[tuple[str, str]] = ()
    ) -> None:
        """Take over what was seen of a process."""
        if watched is None:
            return
        self.processes += 1
        self.peak = max(self.peak, watched.peak)
        self.wrote |= set(watched.wrote)
        seen = of_process(watched, [*baseline.evidence, *known], where)
        if baseline.leaves:
            seen = [one for one in seen if one.reason != reasons.PROCESS_LEAK]
        self.differences += seen
        folders = {os.path.dirname(path) for path in baseline.wrote}
        strange = [
            path for path in watched.wrote if path not in baseline.wrote and os.path.dirname(path) not in folders
        ]
        if strange and not watched.ended:
            detail = f"it changes files of the project: {', '.join(strange[:5])}"
            self.differences.append(Difference(reasons.FS_ESCAPE, where, "", detail))


def losses(run: TestRun | Replay, where: str = "") -> list[Difference]:
    """Why the candidate's process did not answer any more."""
    watched = run.candidate if isinstance(run, TestRun) else run.watched
    how = watched.how if watched is not None else ""
    if run.unready is not None:
        why, message = run.unready
        if why == "ended" and watched is not None:
            if watched.status is None:
                return [Difference(reasons.INVALID, where, "", f"it could not be run: {how}")]
            reason = reasons.CRASH if os.WIFSIGNALED(watched.status) else reasons.IMPORT_FAILURE
            return [] if watched.ended else [Difference(reason, WHILE_IMPORTED, "", how)]
        known = {"timeout": reasons.TIMEOUT, "forged": reasons.TAMPERING}
        return [Difference(known.get(why, reasons.IMPORT_FAILURE), WHILE_IMPORTED, "", message or how)]
    if run.lost is None:
        return []
    if isinstance(run, TestRun):
        why, where, _, before = run.lost
        call = arguments_of(before)
    else:
        why, call = run.lost or "", ""
    return [of_loss(why, where, call, watched)]


def of_loss(why: str, where: str, call: str, watched: Watched | None) -> Difference:
    """Why it did not return from a call."""
    if why == "timeout":
        return Difference(reasons.TIMEOUT, where, call, "it did not return in time")
    if why == "forged":
        return Difference(reasons.TAMPERING, where, call, "it wrote something that is no answer")
    if watched is not None and watched.ended:
        return Difference(OF_ENDING[watched.ended], where, call, f"it was ended because of its {watched.ended}")
    how = watched.how if watched is not None else "its process is gone"
    return Difference(reasons.CRASH, where, call, f"it did not return: {how}")
