"""Pipeline from candidates to a winner: behaviour is judged in slots side by side, speed alone; no stage waits.

Nodes of the run: `baseline:N` for each session, `observed` for what the tests show, `profile:N`, `source:NAME/WHAT`
when a source has given all, `candidate:N` with what it changes, `candidate:N/behaviour`, and `race:N`. A resumed run
finds what is recorded and does the rest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, cast

import anyio

from bakeoff.engine.failures import WorkGroup, work_group
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.run import Run
from bakeoff.errors import BakeoffError, BudgetSpentError
from bakeoff.judge.checks.command import LANE as TESTS
from bakeoff.judge.timing.bench_lock import LANE as BENCH
from bakeoff.judge.timing.speed import FASTER, UNDECIDED, Speed
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.candidate_state import ORIGINAL, CandidateState, judgement_of, kept_judgement, profile_of
from bakeoff.optimize.context.observed import Observed
from bakeoff.optimize.context.surroundings import Surroundings
from bakeoff.optimize.judges.judge import Judge
from bakeoff.optimize.source_code.fingerprint import fingerprint
from bakeoff.optimize.sources.source import Context, Failure, ProfileLine, Source
from bakeoff.sampling.errors import machinery

PATIENCE = 10.0
"""Seconds that a candidate which behaves waits for others to race with."""


Asked: TypeAlias = Callable[[Context], AsyncIterator[Candidate]]
"""What a source is asked, but for the context."""


@dataclass(slots=True)
class Pipeline:
    """One optimisation.

    Attributes:
        run: where nodes are recorded.
        judge: see there.
        sources: in the order in which they are asked.
        context: what sources are told.
        original: the files that the fingerprint of a candidate is compared with, by path.
        look: finds what stands around the target, where a source reads that.
        repairs: how often failures go back to their sources; `refinements`: how often winners do.
        warn: told of a source that failed.
        prefix: what the paths of its nodes begin with.
        lanes: that all who judge hold besides their own.
        most: candidates in one race; None for any number.
        seconds: that a race has now; who was undecided after fewer is raced again where nobody has won.
        spent: what was said when the budget had no room for what a source asked; None where it had.
    """

    run: Run
    judge: Judge
    sources: Sequence[Source]
    context: Context
    original: Callable[[Iterable[str]], Mapping[str, bytes | None]]
    look: Callable[[], Awaitable[Surroundings]] | None = None
    repairs: int = 1
    refinements: int = 3
    warn: Callable[[str], None] = print
    prefix: str = ""
    lanes: tuple[str, ...] = ()
    most: int | None = None
    seconds: float = 0.0
    candidates: dict[int, CandidateState] = field(default_factory=dict)
    champion: CandidateState | None = None
    spent: str | None = None
    _prints: dict[str, int] = field(default_factory=dict)
    _known: dict[tuple[str, str], int] = field(default_factory=dict)
    _survivors: list[CandidateState] = field(default_factory=list)
    _failures: list[CandidateState] = field(default_factory=list)
    _since: float = math.inf
    _judging: int = 0
    _asking: int = 0
    _rounds: dict[str, int] = field(default_factory=dict)
    _tries: dict[int, int] = field(default_factory=dict)
    _undecided: dict[int, CandidateState] = field(default_factory=dict)
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _learning: defaultdict[str, anyio.Lock] = field(default_factory=lambda: defaultdict(anyio.Lock))
    _learned: set[str] = field(default_factory=set)

    async def find(self) -> CandidateState | None:
        """Carry it out; the winner, or None.

        Cancelled, what runs is ended; what was recorded stays.

        Passes on BakeoffError: something a person has to mend.
        """
        async with work_group() as group:
            await self._take_up(group)
            for source in self.sources:
                self._ask(group, source, "propose", source.propose)
            await self._conduct(group)
        if self.champion is not None:
            for number in (ORIGINAL, self.champion.number):
                await self._profile(number)
        return self.champion

    async def _profile(self, number: int) -> Sequence[ProfileLine]:
        """Profile of a candidate, or of the original."""
        candidate = None if number == ORIGINAL else self.candidates[number].candidate

        async def work(_: int) -> Outcome:
            lines = await self.judge.profile(candidate)
            return Outcome(output={"lines": [[line.line, line.hits, line.seconds, line.text] for line in lines]})

        record = await self.run.leaf(f"{self.prefix}profile:{number}", "profile", work, lanes=(TESTS, *self.lanes))
        _check(record)
        return profile_of(record)

    # What sources are told.

    async def _learn(self, source: Source) -> None:
        """Wait for what a source reads of the context; each part is found out once."""
        for part in sorted(source.reads):
            async with self._learning[part]:
                if part not in self._learned:
                    found = await self._find_out(part)
                    self.context = replace(self.context, **found)
                    self._learned.add(part)

    async def _find_out(self, part: str) -> dict[str, Any]:
        if part == "profile":
            return {"profile": await self._profile(ORIGINAL)}
        if part == "calls":
            seen = await self._observed()
            return {"tests": seen.tests, "argument_types": seen.types}
        if self.look is None:
            return {}
        around = await self.look()
        return {"helpers": around.helpers, "callers": around.callers}

    async def _observed(self) -> Observed:
        async def work(_: int) -> Outcome:
            return Outcome(output=(await self.judge.observed()).to_json())

        record = await self.run.leaf(f"{self.prefix}observed", "observed", work, lanes=None)
        _check(record)
        return Observed.from_json(record.output)

    # Candidates come.

    async def _take_up(self, group: WorkGroup) -> None:
        """Enter the candidates that an earlier session recorded."""
        number = 1
        while (record := self.run.history.records.get(f"{self.prefix}candidate:{number}")) is not None:
            await self._enter(group, record.output["source"], Candidate.from_json(record.output["candidate"]))
            number += 1

    def _ask(self, group: WorkGroup, source: Source, what: str, ask: Asked) -> None:
        self._asking += 1
        group.start(self._listen, group, source, what, ask)

    async def _listen(self, group: WorkGroup, source: Source, what: str, ask: Asked) -> None:
        """Take what a source gives until it has given all; one that fails ends nothing but itself.

        What the machine does not give ends all: a resumed run goes on from there.

        A resumed run asks one that failed again.

        Raises:
            BakeoffError: what the user brought cannot be taken, or there is no slot, process or room.
        """
        path = f"{self.prefix}source:{source.name}/{what}"
        try:
            if self.run.find(path) is None:
                await self._learn(source)
                count, failed = 0, None
                try:
                    async with aclosing(cast("AsyncGenerator[Candidate, None]", ask(self.context))) as candidates:
                        async for proposed in candidates:
                            candidate = proposed.bounded()
                            count += 1
                            if (candidate.origin, candidate.id) not in self._known:
                                await self._enter(group, source.name, candidate)
                except BudgetSpentError as failure:
                    self.spent = failed = str(failure)
                except BakeoffError as failure:
                    if source.name == "given" or machinery(failure) is not None:
                        raise
                    self.warn(f"source {source.name}: {failure}")
                    failed = str(failure)
                await self._note(path, "source", {"candidates": count}, failed)
        finally:
            self._asking -= 1
            self._tell()

    async def _enter(self, group: WorkGroup, source: str, candidate: Candidate) -> None:
        number = len(self.candidates) + 1
        state = self.candidates[number] = CandidateState(number, source, candidate)
        self._known[candidate.origin, candidate.id] = number
        if not candidate.invalid:
            before = fingerprint(self.original(candidate.files))
            print_ = fingerprint(candidate.files)
            state.twin = ORIGINAL if print_ == before else self._prints.setdefault(print_, number)
            if state.twin == number:
                state.twin = None
                self._judging += 1
        kept = {"source": source, "candidate": candidate.to_json(), "twin": state.twin}
        await self._note(f"{self.prefix}candidate:{number}", "candidate", kept)
        if state.reason is None:
            group.start(self._judge, state)

    async def _note(self, path: str, type_: str, output: Mapping[str, Any], failed: str | None = None) -> Record:
        async def work(_: int) -> Outcome:
            return Outcome(Status.COMPLETED if failed is None else Status.FAILED, output, failed)

        return await self.run.leaf(path, type_, work, lanes=None)

    # Behaviour.

    async def _judge(self, state: CandidateState) -> None:
        async def work(_: int) -> Outcome:
            return Outcome(output=kept_judgement(await self.judge.behaviour(state.candidate)))

        try:
            path = f"{self.prefix}candidate:{state.number}/behaviour"
            record = await self.run.leaf(path, "behaviour", work, lanes=(TESTS, *self.lanes))
            _check(record)
            state.judgement = judgement_of(record)
            if state.judgement.same and state.speed is None:
                self._survivors.append(state)
                self._since = min(self._since, anyio.current_time())
            elif state.judgement.differences:
                self._failures.append(state)
        finally:
            self._judging -= 1
            self._tell()

    # What is next.

    def _tell(self) -> None:
        self._changed.set()

    async def _conduct(self, group: WorkGroup) -> None:
        """Race when there is a field; send back what may become better; until nothing goes on and nothing is left."""
        while True:
            quiet = not self._judging
            if self._survivors and (quiet or anyio.current_time() - self._since >= PATIENCE):
                await self._race(group)
            elif quiet and self._failures and self._may("repair", self.repairs):
                await self._repair(group)
            elif quiet and not self._asking:
                if self.champion is not None or not self._undecided:
                    return
                self._survivors, self._undecided = list(self._undecided.values()), {}
            else:
                await self._wait()

    async def _wait(self) -> None:
        until = self._since + PATIENCE if self._survivors else math.inf
        with anyio.move_on_at(until):
            await self._changed.wait()
        self._changed = anyio.Event()

    def _may(self, what: str, most: int) -> bool:
        self._rounds[what] = self._rounds.get(what, 0) + 1
        return self._rounds[what] <= most

    async def _repair(self, group: WorkGroup) -> None:
        failures, self._failures = self._failures, []
        name = f"repair:{self._rounds['repair']}"
        # A resumed run sends the same ones back, so that what was answered is found again.
        decided = await self.run.decide(f"{self.prefix}{name}", lambda: sorted(state.number for state in failures))
        self._failures = [state for state in failures if state.number not in decided]
        failed = [self.candidates[number] for number in decided]
        for source in self.sources:
            own = [Failure(one.candidate, one.judgement.differences) for one in failed
                   if one.source == source.name and one.judgement is not None]  # fmt: skip
            if own:
                self._ask(group, source, name, partial(_repairs, source, own))

    # Speed.

    async def _race(self, group: WorkGroup) -> None:
        waiting = sorted(self._survivors, key=lambda state: state.number)
        self._survivors, self._since = [], math.inf
        champions = [] if self.champion is None else [self.champion]
        room = len(waiting) if self.most is None else self.most - len(champions)
        field_ = [*waiting[:room], *champions]
        name = f"{self.prefix}race:{self._next('race')}"
        decided = await self.run.decide(name, lambda: sorted(state.number for state in field_))
        # A resumed run races the same field; who was not in it comes next.
        self._survivors += [state for state in waiting if state.number not in decided]
        if self._survivors:
            self._since = anyio.current_time()
        racing = {number: self.candidates[number] for number in decided}

        async def work(_: int) -> Outcome:
            candidates = {number: state.candidate for number, state in racing.items()}
            found = await self.judge.race(candidates, max(self._tries.get(number, 0) for number in racing))
            speeds = {str(number): speed.to_json() for number, speed in found.items()}
            return Outcome(output={"speeds": speeds, "seconds": self.seconds})

        record = await self.run.leaf(name, "race", work, lanes=(BENCH, *self.lanes))
        _check(record)
        for number, kept in record.output["speeds"].items():
            state = self.candidates[int(number)]
            state.speed = Speed.from_json(kept)
            self._undecided.pop(state.number, None)
            if state.speed.verdict == UNDECIDED:
                self._tries[state.number] = self._tries.get(state.number, 0) + 1
                if record.output.get("seconds", self.seconds) < self.seconds:
                    self._undecided[state.number] = state
        winners = [state for state in racing.values() if state.verdict == "ACCEPT"]
        before = self.champion
        measured_again = [state for state in winners if state.speed is not None and state.speed.remeasured]
        best = max(measured_again, key=_rank, default=None)
        new = best is not None and best is not before and self.judge.tests_winners
        if best is not None and new and not await self._holds(best):
            self.champion = None
            # Whom it beat has not had its chance.
            self._survivors += [state for state in racing.values() if state is not best and _may_win(state)]
            self._since = anyio.current_time()
            return
        self.champion = best
        if self.champion is not None and self.champion is not before and self._may("refine", self.refinements):
            profile = await self._profile(self.champion.number)
            self._refine(group, sorted(winners, key=_rank, reverse=True), profile)

    async def _holds(self, state: CandidateState) -> bool:
        """Whether the tests pass with a winner, too, as it would be applied."""
        judgement = state.judgement
        assert judgement is not None

        async def work(_: int) -> Outcome:
            return Outcome(output=kept_judgement(await self.judge.as_applied(state.candidate, judgement)))

        path = f"{self.prefix}candidate:{state.number}/applied"
        record = await self.run.leaf(path, "applied", work, lanes=(TESTS, *self.lanes))
        _check(record)
        state.judgement = judgement_of(record)
        self._tell()
        return state.judgement.same

    def _next(self, what: str) -> int:
        self._rounds[what] = self._rounds.get(what, 0) + 1
        return self._rounds[what]

    def _refine(self, group: WorkGroup, winners: Sequence[CandidateState], profile: Sequence[ProfileLine]) -> None:
        """Winners go back to all sources; a line that was refined already goes on as a line."""
        speeds = {
            each.candidate.id: _in_words(each.speed) for each in self.candidates.values() if each.speed is not None
        }
        self.context = replace(self.context, speeds=speeds)
        round_ = self._rounds["refine"]
        lineage = self._lineage(winners[0])
        for source in self.sources:
            if len(lineage) > 1 and source.name == winners[0].source:
                self._ask(group, source, f"adapt:{round_}", partial(_adapts, source, lineage))
                continue
            candidates = [state.candidate for state in winners]
            self._ask(group, source, f"refine:{round_}", partial(_refines, source, candidates, profile))

    def _lineage(self, state: CandidateState) -> list[Candidate]:
        by_id = {other.candidate.id: other.candidate for other in self.candidates.values()}
        line = [state.candidate]
        while (parent := by_id.get(line[0].parent or "")) is not None and parent not in line:
            line.insert(0, parent)
        return line


def _in_words(speed: Speed) -> str:
    if speed.speedup is None:
        return speed.verdict
    return f"{speed.speedup.estimate:.2f} times as fast as the original ({speed.verdict})"


def _repairs(source: Source, failures: Sequence[Failure], context: Context) -> AsyncIterator[Candidate]:
    return source.repair(context, failures)


def _refines(
    source: Source, winners: Sequence[Candidate], profile: Sequence[ProfileLine], context: Context
) -> AsyncIterator[Candidate]:
    return source.refine(context, winners, profile)


def _adapts(source: Source, lineage: Sequence[Candidate], context: Context) -> AsyncIterator[Candidate]:
    return source.adapt(context, lineage)


def _may_win(state: CandidateState) -> bool:
    """Whether a candidate that another one beat may win without that one: it was only selected, or left undecided."""
    return state.speed is not None and state.speed.verdict in (FASTER, UNDECIDED)


def _rank(state: CandidateState) -> tuple[bool, float]:
    """Sort key: who was measured again comes before all others, whose figures were selected for being high."""
    speed = state.speed
    return (False, 0.0) if speed is None or speed.speedup is None else (speed.remeasured, speed.speedup.low)


def _check(record: Record) -> None:
    """See that a node has a result.

    Raises:
        BakeoffError: it failed; a resumed run tries it again.
    """
    if not record.final:
        raise BakeoffError(f"{record.path}: {record.error}")
