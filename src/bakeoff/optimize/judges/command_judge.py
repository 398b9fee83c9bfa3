"""Judge by commands: behaviour by checks or by a function's tests, speed by a benchmark command."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from bakeoff.engine.record import Outcome
from bakeoff.engine.run import Run
from bakeoff.judge.checks.command import CommandRequirement
from bakeoff.judge.checks.protected import Protection
from bakeoff.judge.subject import Subject
from bakeoff.judge.timing.in_slots import SlotRace
from bakeoff.judge.timing.speed import Speed
from bakeoff.judge.verdict import ValidationResult, to_json
from bakeoff.optimize import reasons
from bakeoff.optimize.behaviour.judgement import Difference, Judgement
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.context.observed import Observed
from bakeoff.optimize.errors import BenchError
from bakeoff.optimize.judges.function_judge import FunctionJudge
from bakeoff.optimize.options import CHECKS, NOTHING, TESTS
from bakeoff.optimize.sources.source import ProfileLine
from bakeoff.workspace.results.results import Result

MOST_RACED = 8
"""Candidates in one race; a command takes long."""
TIMES, LEAST = 10, 60.0
"""A candidate's check or run may take so many times what it takes where nothing was changed, and so many seconds."""


@dataclass(slots=True)
class CommandJudge:
    """See `judges.judge.Judge`. Its own node is `bench`: what the commands give where nothing was changed.

    Attributes:
        run: where that is a node, and where each verdict of a race is kept as soon as it is final.
        timing: the command that is timed.
        checks: commands that judge behaviour; those without a timeout get one by what they take at first.
        write: makes a commit of a candidate.
        base: commit and tree of the snapshot.
        function: judges behaviour by the tests that reach the target, where there are no checks.
        protection: what candidates may not change.
        prefix: what the paths of nodes begin with.
    """

    run: Run
    timing: SlotRace
    checks: Sequence[CommandRequirement]
    write: Callable[[Candidate], Awaitable[Result]]
    base: tuple[str, str]
    function: FunctionJudge | None
    protection: Protection
    prefix: str = ""
    _made: dict[str, Result] = field(default_factory=dict)
    _tried: bool = False
    _trying: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def most(self) -> int:
        """Candidates in one race: all slots are held until it is over."""
        return min(MOST_RACED, self.timing.most)

    @property
    def judged_by(self) -> str:
        """Kind of evidence that judges behaviour: `TESTS`, `CHECKS` or `NOTHING`."""
        return TESTS if self.function is not None else CHECKS if self.checks else NOTHING

    async def begin(self) -> None:
        """Passes on BenchError, TimingError: the commands say nothing. BehaviourError, WorkspaceError."""
        await self._try()
        if self.function is not None:
            await self.function.begin()

    async def behaviour(self, candidate: Candidate) -> Judgement:
        """Passes on BenchError, TimingError: the commands say nothing. BehaviourError, WorkspaceError."""
        await self._try()
        touched = [path for path in candidate.files if self.protection.covers(path)]
        if touched:
            detail = f"it changes what it is judged by: {', '.join(touched[:5])}"
            return Judgement(reasons.INVALID, detail, {}, (Difference(reasons.INVALID, "", "", detail),))
        if self.function is not None:
            return await self.function.behaviour(candidate)
        made = await self._commit(candidate)
        verdicts = await self._check(made.commit, made.tree)
        receipt = {"judged_by": self.judged_by, "tree": made.tree, "checks": _shown(verdicts)}
        for name, verdict in verdicts:
            if not verdict.result:
                reason = reasons.CHECK_FAILED if verdict.error is None else reasons.INVALID
                said = verdict.reason or verdict.error or ""
                detail = f"{name}: {said.splitlines()[0] if said else 'failed'}"
                return Judgement(reason, detail, receipt, (Difference(reason, name, "", said),))
        return Judgement(None, "", receipt)

    async def race(self, candidates: Mapping[int, Candidate], earlier: int = 0) -> Mapping[int, Speed]:
        """Passes on TimingError: nothing can be measured here."""
        commits = {str(number): (await self._commit(candidate)).commit for number, candidate in candidates.items()}
        field_ = "+".join(commits)

        def place(name: str) -> str:
            return f"{self.prefix}timed:{field_}@{self.timing.options.seconds:g}/{name}"

        known = self.run.history.decisions
        kept = {name: Speed.from_json(known[place(name)]) for name in commits if place(name) in known}

        async def told(name: str, speed: Speed) -> None:
            await self.run.decide(place(name), speed.to_json)

        timing = replace(self.timing, options=replace(self.timing.options, earlier=earlier))
        raced = await timing.race(commits, kept=kept, told=told)
        return {int(name): speed for name, speed in raced.speeds.items()}

    @property
    def tests_winners(self) -> bool:
        """Where the function's tests judge."""
        return self.function is not None

    async def as_applied(self, candidate: Candidate, judgement: Judgement) -> Judgement:
        """See `Judge`."""
        return judgement if self.function is None else await self.function.as_applied(candidate, judgement)

    async def profile(self, candidate: Candidate | None) -> Sequence[ProfileLine]:
        """Of the function; empty where none is named."""
        return () if self.function is None else await self.function.profile(candidate)

    async def observed(self) -> Observed:
        """Of the function; nothing where none is named."""
        return Observed() if self.function is None else await self.function.observed()

    async def _commit(self, candidate: Candidate) -> Result:
        if candidate.id not in self._made:
            self._made[candidate.id] = await self.write(candidate)
        return self._made[candidate.id]

    async def _check(
        self, commit: str, tree: str, took: list[float] | None = None
    ) -> list[tuple[str, ValidationResult]]:
        """The verdicts of the checks, up to the first that is not met; `took` gets the seconds of each."""
        found = []
        for check in self.checks:
            since = time.monotonic()
            verdict = await check.check(Subject({"tree": tree}, facts={"judged": commit}))
            if took is not None:
                took.append(time.monotonic() - since)
            found.append((check.command, verdict))
            if not verdict.result:
                break
        return found

    async def _try(self) -> None:
        """See once, before any candidate, that the commands say something where nothing was changed.

        Raises:
            BenchError: a check fails there.
        """
        async with self._trying:
            if self._tried:
                return
            record = await self.run.leaf(f"{self.prefix}bench", "bench", self._base, lanes=None)
            if not record.final:
                raise BenchError(record.error or "the command cannot be timed")
            self._limit(record.output)
            self._tried = True

    def _limit(self, base: Mapping[str, Any]) -> None:
        """Let nothing of a candidate run on and on."""
        for check, took in zip(self.checks, base["checks"], strict=True):
            if check.seconds is None and "seconds" in took:
                check.seconds = max(LEAST, TIMES * took["seconds"])
        longest = self.timing.options.fork_seconds
        if "longest" in base:
            longest = min(longest, max(LEAST, TIMES * base["longest"]))
        self.timing = replace(self.timing, options=replace(self.timing.options, fork_seconds=longest))

    async def _base(self, _: int) -> Outcome:
        took: list[float] = []
        verdicts = await self._check(*self.base, took)
        for name, verdict in verdicts:
            if not verdict.result:
                said = verdict.reason or verdict.error or ""
                raise BenchError(f"the check {name!r} is not met where nothing was changed: {said}")
        since = time.monotonic()
        ran, protection = await self.timing.try_base()
        output: dict[str, Any] = {
            "command": self.timing.command,
            "seconds": round(ran.wall, 6),
            # Of its runs with what they build: no run took longer.
            "longest": round(time.monotonic() - since, 3),
            "output": "same" if self.timing.same_output else "any",
            "prints": bool(ran.head),
            "judged_by": self.judged_by,
            "verified": self.judged_by != NOTHING,
            "checks": [
                one | {"seconds": round(seconds, 3)} for one, seconds in zip(_shown(verdicts), took, strict=True)
            ],
            "sandbox": protection,
        }
        return Outcome(output=output)


def _shown(verdicts: Sequence[tuple[str, ValidationResult]]) -> list[dict[str, Any]]:
    return [{"check": name, "verdict": verdict.verdict, **to_json(verdict)} for name, verdict in verdicts]
