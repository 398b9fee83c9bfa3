"""Fan-outs: nested, halting, cancelling, revived, cancelled from outside."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import trio

from bakeoff.engine.fan_out import fan_out
from simulation.world import Chance, Trace, linger, spend, watched


@dataclass
class Item:
    steps: list[int]
    halts: int  # how many times its result halts before it does not
    answered: list[int]  # ticks after each halt until somebody takes it back; -1 never
    cleanup: int
    stubborn: bool  # finishes in spite of a cancellation
    inner: Plan | None = None


@dataclass
class Plan:
    bound: int
    on_halt: str
    items: list[Item] = field(default_factory=list)


def plan(chance: Chance, depth: int = 0) -> Plan:
    made = Plan(chance.randint(1, 5), chance.choice(("finish", "cancel")))
    halting = chance.choice((0.0, 0.0, 0.15, 0.4))
    for _ in range(chance.randint(0, 4 if depth else 12)):
        halts = chance.randint(1, 2) if chance.likely(halting) else 0
        answered = [chance.choice((-1, 0, 1, 2, 4)) for _ in range(halts)]
        item = Item([chance.ticks() for _ in range(chance.randint(0, 3))], halts, answered, chance.ticks(),
                    chance.likely(0.1))  # fmt: skip
        if depth < 2 and chance.likely(0.12):
            item.inner = plan(chance, depth + 1)
        made.items.append(item)
    return made


@dataclass
class Result:
    index: int
    halts: bool
    event: anyio.Event | None


class Fan:
    """One fan-out as it runs, with everything the promise says checked on the way."""

    def __init__(self, planned: Plan, trace: Trace, name: str) -> None:
        self.plan, self.trace, self.name = planned, trace, name
        self.open: set[int] = set()
        self.started = 0
        self.finished: dict[int, Result] = {}
        self.halted: dict[int, float] = {}
        self.waiting: dict[int, anyio.Event] = {}  # halted, and may be taken back
        self.cancelled: set[int] = set()
        self.tries: dict[int, int] = {}
        self.idle: list[float] = []  # moments at which nothing was open
        self.set_at: dict[int, float] = {}
        self.inner: dict[int, Fan] = {}

    async def run(self, nursery: trio.Nursery) -> list[Result]:
        self.nursery = nursery
        try:
            results = await fan_out(
                self.plan.items,
                self.body,
                bound=self.plan.bound,
                halts=lambda result: result.halts,
                on_halt=self.plan.on_halt,
                revival=lambda result: result.event,
            )
        finally:
            self.returned = True
        self.check_end(results)
        return results

    async def body(self, index: int, item: Item) -> Result:
        self.enter(index)
        try:
            for ticks in item.steps:
                since = trio.current_time()
                if item.stubborn:
                    await linger(ticks)
                else:
                    await spend(ticks)
                    self.check_cancelled(index, since)
            if item.inner is not None:
                self.inner[index] = Fan(item.inner, self.trace, f"{self.name}/{index}")
                await self.inner[index].run(self.nursery)
        except trio.Cancelled:
            self.cancelled.add(index)
            await linger(item.cleanup)
            raise
        finally:
            self.open.discard(index)
            if not self.open:
                self.idle.append(trio.current_time())
            self.trace.note(self.name, "end", index)
        return self.result(index, item)

    def enter(self, index: int) -> None:
        self.trace.note(self.name, "start", index)
        assert index not in self.open, f"item {index} runs twice at once"
        self.waiting.pop(index, None)
        lowest = min(self.halted, default=len(self.plan.items))
        if index in self.halted:  # answered: it goes on, whatever a lower one has done meanwhile
            del self.halted[index]
        else:
            assert index < lowest, f"item {index} started although {lowest} has halted"
            if index in self.cancelled:
                self.cancelled.discard(index)
            else:
                assert index == self.started, f"item {index} started, {self.started} was next"
                self.started += 1
        self.open.add(index)
        assert len(self.open) <= self.plan.bound, f"{len(self.open)} open, the bound is {self.plan.bound}"

    def result(self, index: int, item: Item) -> Result:
        tries = self.tries[index] = self.tries.get(index, 0) + 1
        if tries > item.halts:
            self.finished[index] = Result(index, False, None)
            return self.finished[index]
        answered = item.answered[tries - 1]
        event = anyio.Event() if answered >= 0 else None
        self.halted[index] = trio.current_time()
        self.set_at.pop(index, None)
        if event is not None:
            self.waiting[index] = event
            self.nursery.start_soon(self.answer, index, event, answered)
        self.finished[index] = Result(index, True, event)
        return self.finished[index]

    async def answer(self, index: int, event: anyio.Event, ticks: int) -> None:
        await spend(ticks)
        self.set_at[index] = trio.current_time()
        self.trace.note(self.name, "answer", index)
        event.set()

    def check_cancelled(self, index: int, since: float) -> None:
        """Under `cancel` nothing above a halted item gets through a wait that began after the halt."""
        if self.plan.on_halt == "cancel":
            for other, at in self.halted.items():
                assert index < other or since <= at or trio.current_time() == since, f"{index} outlived {other}"

    def check(self) -> None:
        """Between the ticks: exactly as many items open as the bound and the work allow."""
        for fan in list(self.inner.values()):
            fan.check()
        if self.returned or self.halted or self.cancelled:
            return
        total = len(self.plan.items)
        done = sum(1 for index in self.finished if index not in self.open)
        assert len(self.open) == min(self.plan.bound, total - done), (
            f"{self.name}: {len(self.open)} open of {total - done} at bound {self.plan.bound}"
        )

    returned = False

    def check_end(self, results: list[Result]) -> None:
        self.trace.note(self.name, "return", len(results))
        assert not self.open, f"{self.open} still open at return"
        count = min(self.halted, default=len(self.plan.items) - 1) + 1
        assert [result.index for result in results] == list(range(count))
        assert all(results[index] is self.finished[index] for index in range(count)), "a result is not the last one"
        assert [result.index for result in results if result.halts] == ([count - 1] if self.halted else [])
        if self.plan.on_halt == "finish":
            assert not self.cancelled, f"{self.cancelled} were cancelled under `finish`"
        if self.plan.bound > 1:
            for index, since in self.halted.items():
                at = self.set_at.get(index)
                assert at is None or any(since <= moment <= at for moment in self.idle), f"{index} was not revived"


async def simulate(chance: Chance, trace: Trace) -> None:
    fan = Fan(plan(chance), trace, "fan")
    stop = chance.choice((None, None, None, chance.randint(0, 8)))
    async with trio.open_nursery() as nursery:
        async with watched(fan.check):
            with trio.CancelScope() as scope:
                if stop is not None:
                    scope.deadline = trio.current_time() + stop
                await fan.run(nursery)
            fan.returned = True
            assert not fan.open
            for inner in fan.inner.values():
                assert not inner.open
        nursery.cancel_scope.cancel()
