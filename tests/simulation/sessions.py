"""Whole runs: leaves, fan-outs and races over a journal, stopped, killed or failed at any moment and resumed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import trio

from bakeoff.engine.events import Events, NodeEnded, NodeStarted
from bakeoff.engine.fan_out import fan_out
from bakeoff.engine.history import History
from bakeoff.engine.journal import Entry
from bakeoff.engine.lanes import LEAVES, Lanes
from bakeoff.engine.race import race
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.retry import Retry
from bakeoff.engine.run import Run
from bakeoff.errors import JournalError
from simulation.sim_journal import SimJournal
from simulation.world import Chance, Trace, linger, spend, watched

ALWAYS = 1000
RESERVE = {"usd": 5.0, "calls": 1.0}


@dataclass
class Leaf:
    ticks: int
    fails: int  # tries that fail before one succeeds
    retry: Retry
    timeout: int | None
    continue_on_error: bool
    lanes: tuple[str, ...]
    paid: bool
    usd: float | None  # reported; None where the bill is missing
    cleanup: int

    @property
    def succeeds(self) -> bool:
        return self.fails < self.retry.attempts and not (self.timeout is not None and self.ticks > self.timeout)


@dataclass
class FanNode:
    bound: int
    on_halt: str
    items: list[list[Node]] = field(default_factory=list)


@dataclass
class RaceNode:
    bound: int
    entrants: list[Leaf]


Node = Leaf | FanNode | RaceNode


def leaf(chance: Chance) -> Leaf:
    attempts = chance.choice((1, 1, 2, 3))
    fails = chance.choice((0, 0, 0, 0, attempts - 1, ALWAYS))
    ticks = chance.ticks()
    return Leaf(
        ticks,
        fails,
        Retry(attempts, delay=chance.randint(0, 2), backoff=1, jitter=0),
        # Never equal to the time the work takes: who wins then is chance.
        chance.choice((None, None, ticks + 1, ticks + 1, 1 if ticks > 1 else None)),
        chance.likely(0.5),
        tuple(name for name in ("agents", "bench") if chance.likely(0.2)),
        chance.likely(0.4),
        chance.choice((None, 1.0, 4.0)),
        chance.ticks(),
    )


def nodes(chance: Chance, depth: int = 0) -> list[Node]:
    made: list[Node] = []
    for _ in range(chance.randint(1, 3)):
        kind = chance.random()
        if kind < 0.5 or depth == 2:
            made.append(leaf(chance))
        elif kind < 0.85:
            items = [nodes(chance, depth + 1) for _ in range(chance.randint(0, 5 if depth == 0 else 3))]
            made.append(FanNode(chance.randint(1, 4), chance.choice(("finish", "cancel")), items))
        else:
            made.append(RaceNode(chance.randint(1, 3), [leaf(chance) for _ in range(chance.randint(1, 4))]))
    return made


@dataclass
class Value:
    """What a piece of the program comes to; `halts` when nothing may follow it."""

    value: object
    halts: bool = False


def expected(program: list[Node], path: str = "") -> Value:
    """What an uninterrupted run comes to, worked out without the engine."""
    found: list[object] = []
    for place, node in enumerate(program):
        value = _expected(node, f"{path}{place}")
        found.append(value.value)
        if value.halts:
            return Value(found, True)
    return Value(found)


def _expected(node: Node, path: str) -> Value:
    if isinstance(node, Leaf):
        return Value((path, node.succeeds), not (node.succeeds or node.continue_on_error))
    if isinstance(node, RaceNode):
        return Value(next((place for place, entrant in enumerate(node.entrants) if entrant.succeeds), None))
    found = []
    for index, item in enumerate(node.items):
        value = expected(item, f"{path}:{index}/")
        found.append(value.value)
        if value.halts:
            return Value(found, True)
    return Value(found)


class SimClock:
    """Virtual time; the wall clock may have been put back between sessions."""

    def __init__(self, offset: float) -> None:
        self.offset = offset

    def wall(self) -> float:
        return trio.current_time() + self.offset

    def monotonic(self) -> float:
        return trio.current_time()


class Session:
    """One session of the run, checked from inside."""

    def __init__(self, journal: SimJournal, chance: Chance, trace: Trace, done: set[str], ledger: list[float]) -> None:
        self.journal, self.trace, self.done, self.ledger = journal, trace, done, ledger
        self.history = History(Path("/run")).read(list(journal.durable))
        sizes = {LEAVES: chance.randint(1, 5), "agents": 1, "bench": 2}
        self.lanes = Lanes(sizes)
        self.working: dict[str, tuple[str, ...]] = {}
        self.places: dict[str, int] = {}
        self.executed: set[str] = set()
        events = Events()
        self.paid: set[str] = set()
        events.subscribe(self.hear)
        clock = SimClock(chance.choice((1e9, 1e9 - 5000)))
        self.run = Run(
            journal=journal, history=self.history, lanes=self.lanes, events=events, clock=clock, random=chance,
            root=Path("/run"),
        )  # fmt: skip
        self.run.budget.spent |= self.history.spent
        self.spent_before = dict(self.run.budget.spent)

    def hear(self, event: object) -> None:
        if isinstance(event, NodeStarted):
            assert event.place not in self.places.values(), "two pieces of work at one place"
            self.places[event.path] = event.place
        elif isinstance(event, NodeEnded):
            assert event.record.path in self.journal.ended, "told of before it is on disk"

    async def steps(self, program: list[Node], path: str = "") -> Value:
        found: list[object] = []
        for place, node in enumerate(program):
            value = await self.node(node, f"{path}{place}")
            found.append(value.value)
            if value.halts:
                return Value(found, True)
        return Value(found)

    async def node(self, node: Node, path: str) -> Value:
        if isinstance(node, Leaf):
            record = await self.leaf(node, path)
            good = record.status is Status.COMPLETED
            assert not good or record.output == {"path": path}, "another node's result"
            return Value((path, good), not (good or record.continued))
        if isinstance(node, RaceNode):

            async def entrant(number: int) -> Record:
                return await self.leaf(node.entrants[number], f"{path}:{number}")

            ended = await race(
                len(node.entrants), entrant, lambda record: record.status is Status.COMPLETED, bound=node.bound
            )
            return Value(ended.winner)

        async def item(index: int, program: list[Node]) -> Value:
            return await self.steps(program, f"{path}:{index}/")

        values = await fan_out(
            node.items, item, bound=node.bound, on_halt=node.on_halt, halts=lambda value: value.halts
        )
        return Value([value.value for value in values], bool(values) and values[-1].halts)

    async def leaf(self, node: Leaf, path: str) -> Record:
        reserve = RESERVE if node.paid else {}

        async def work(attempt: int) -> Outcome:
            return await self.work(node, path, attempt)

        if node.paid:
            self.paid.add(path)
        try:
            record = await self.run.leaf(
                path, "work", work, lanes=node.lanes, retry=node.retry, timeout=node.timeout,
                continue_on_error=node.continue_on_error,
                reserve=reserve,
            )  # fmt: skip
        finally:
            self.paid.discard(path)
        assert path in self.journal.ended, "a result was seen before it was on disk"
        return record

    async def work(self, node: Leaf, path: str, attempt: int) -> Outcome:
        self.trace.note("work", path, attempt)
        assert path not in self.done, f"{path} was committed and ran again"
        assert path not in self.working
        before = self.history.starts.get(path)
        if path not in self.executed:
            assert attempt == (before.attempt if before else 0) + 1
        self.executed.add(path)
        self.working[path] = (LEAVES, *node.lanes)
        for lane, size in self.lanes.sizes.items():
            assert sum(lane in lanes for lanes in self.working.values()) <= size, f"lane {lane} is too full"
        cost = RESERVE["usd"] if node.paid else 0.0
        try:
            await spend(node.ticks)
            if node.paid and node.usd is not None:
                cost = node.usd
        except trio.Cancelled:
            await linger(node.cleanup)
            raise
        finally:
            if node.paid:
                self.ledger.append(cost)
            del self.working[path], self.places[path]
        usage = {"usd": node.usd} if node.paid else None
        if attempt <= node.fails:
            return Outcome(Status.FAILED, {}, "no", "exit", usage=usage)
        return Outcome(output={"path": path}, usage=usage)

    def check(self) -> None:
        """Between the ticks. A paid leaf holds its lanes while it waits for its start to be on disk."""
        for name, used in self.lanes.in_use.items():
            working = sum(name in lanes for lanes in self.working.values())
            assert working <= used <= working + len(self.paid - self.working.keys()), f"{name}: {used} leases"

    def check_end(self) -> None:
        assert not self.working
        assert self.lanes.in_use == dict.fromkeys(self.lanes.sizes, 0), "leases leaked"


async def simulate(chance: Chance, trace: Trace) -> None:
    program = nodes(chance)
    durable: list[Entry] = []
    ledger: list[float] = []
    forgotten = False
    for stop in [*(chance.choice(("stop", "kill", "fail")) for _ in range(chance.randint(0, 3))), None]:
        durable.append(Entry(len(durable) + 1, "run", "", '{"status":"running","at":0}'))
        history = History(Path("/run")).read(list(durable))
        done = {path for path, found in history.records.items() if found.status is Status.COMPLETED or found.continued}
        fails_at = chance.randint(1, 12) if stop == "fail" else 0
        journal = SimJournal(durable, chance, chance.choice((0, 0, 1, 4)), fails_at)
        session = Session(journal, chance, trace, done, ledger)
        assert session.run.budget.spent["usd"] == history.spent.get("usd", 0.0)
        trace.note("session", stop)
        value, failed = await one_session(session, program, stop, chance)
        session.check_end()
        over = value is not None
        if over:
            assert value == expected(program), f"{value} instead of {expected(program)}"
        forgotten = forgotten or failed or stop == "kill"
        if not failed and stop != "kill":
            durable.append(Entry(len(durable) + 1, "run", "", '{"status":"paused","at":0}'))
        read = History(Path("/run")).read(list(durable))
        read.interrupt()
        spent = read.spent.get("usd", 0.0)
        # A paid call is on disk before it is made: one may be charged that did not begin, none is forgotten.
        assert spent >= sum(ledger), f"{spent} on the record, {sum(ledger)} spent"
        if not forgotten:
            assert session.run.budget.spent["usd"] == sum(ledger), "in this process"
            assert spent == sum(ledger), f"{spent} on the record, {sum(ledger)} spent"
        if over and not failed:
            return
    raise AssertionError("the last session did not come to an end")


async def one_session(
    session: Session, program: list[Node], stop: str | None, chance: Chance
) -> tuple[Value | None, bool]:
    """What the session came to, if it came to an end; and whether the journal failed."""
    value, failed = None, False
    journal = session.journal
    async with trio.open_nursery() as nursery:
        nursery.start_soon(journal.write)
        with trio.CancelScope() as scope:

            async def interrupt() -> None:
                await spend(chance.randint(0, 15))
                journal.cut = stop == "kill"
                scope.cancel()

            if stop in ("stop", "kill"):
                nursery.start_soon(interrupt)
            try:
                async with watched(session.check):
                    value = await session.steps(program)
            except* JournalError:
                failed = True
        await journal.drained()
        nursery.cancel_scope.cancel()
    assert not failed or stop == "fail"
    return value, failed or journal.error is not None
