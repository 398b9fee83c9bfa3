"""Lanes, fan-out, race, budget, retry, mask, events and clock: what the simulation does not ask for."""

from __future__ import annotations

import json
import threading
import time
from contextlib import AbstractContextManager
from random import Random
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.engine.budget import Budget, Reservation
from bakeoff.engine.clock import SystemClock
from bakeoff.engine.events import Events, Warned
from bakeoff.engine.fan_out import fan_out
from bakeoff.engine.lanes import PATIENCE, Lanes
from bakeoff.engine.mask import MASK, Masker
from bakeoff.engine.race import race
from bakeoff.engine.record import Outcome, Status
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.errors import BakeoffError, BudgetSpentError

anyio_test = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("size", [0, -1, True, 1.0, "2"])
def test_lanes_have_whole_sizes(size: Any) -> None:
    with pytest.raises(ValueError, match="whole number of at least 1"):
        Lanes({"a": size})


@anyio_test
async def test_an_unknown_lane_is_named_with_those_there_are() -> None:
    with pytest.raises(BakeoffError, match=r"no lane 'c'; lanes here: a, b"):
        await Lanes({"b": 1, "a": 1}).acquire(("a", "c"))


@anyio_test
async def test_a_lane_named_twice_is_held_once() -> None:
    lanes = Lanes({"a": 1})
    lease = await lanes.acquire(("a", "a"))
    assert lanes.in_use == {"a": 1}
    lanes.release(lease)
    assert lanes.in_use == {"a": 0}


@anyio_test
async def test_a_cancelled_request_leaves_room_for_those_behind_it() -> None:
    """It stood first and asked for what is held; who wants less is served when it goes."""
    lanes = Lanes({"a": 1, "b": 1})
    held = await lanes.acquire(("a",))
    async with anyio.create_task_group() as group:
        with anyio.move_on_after(0.02):
            await lanes.acquire(("a", "b"))
        with anyio.fail_after(60):
            lanes.release(await lanes.acquire(("b",)))
        group.cancel_scope.cancel()
    lanes.release(held)
    assert lanes.in_use == {"a": 0, "b": 0}


@anyio_test
async def test_whoever_wants_much_is_passed_so_often_and_no_more() -> None:
    """Small requests keep each lane busy in turn; without patience the big one would wait for ever."""
    lanes = Lanes({"a": 1, "b": 1})
    holding = {name: await lanes.acquire((name,)) for name in "ab"}
    big = anyio.Event()
    passes = 0

    async def want_both() -> None:
        lanes.release(await lanes.acquire(("a", "b")))
        big.set()

    async def next_small(name: str) -> None:
        nonlocal passes
        holding[name] = await lanes.acquire((name,))
        passes += not big.is_set()

    async with anyio.create_task_group() as group:
        group.start_soon(want_both)
        await anyio.wait_all_tasks_blocked()
        for turn in range(200):
            name = "ab"[turn % 2]
            group.start_soon(next_small, name)
            await anyio.wait_all_tasks_blocked()
            lease = holding.pop(name, None)
            if lease is not None:
                lanes.release(lease)
            await anyio.wait_all_tasks_blocked()
            if big.is_set():
                break
        assert big.is_set()
        assert passes == PATIENCE
        group.cancel_scope.cancel()


@anyio_test
@pytest.mark.parametrize("bound", [0, -3])
async def test_bounds_are_at_least_one(bound: int) -> None:
    async def body(*_: Any) -> None:
        raise AssertionError

    with pytest.raises(ValueError, match="at least 1"):
        await fan_out([1], body, bound=bound)
    with pytest.raises(ValueError, match="at least 1"):
        await race(1, body, bool, bound=bound)
    with pytest.raises(ValueError, match="deterministic or fastest"):
        await race(1, body, bool, bound=1, mode="slowest")  # type: ignore[arg-type]


@anyio_test
@pytest.mark.parametrize("bound", [1, 3])
async def test_items_are_pulled_as_places_fall_free(bound: int) -> None:
    """An endless iterator is fine as long as something halts."""
    pulled = 0

    def endless() -> Any:
        nonlocal pulled
        while True:
            pulled += 1
            yield pulled

    async def body(index: int, item: int) -> int:
        await anyio.lowlevel.checkpoint()
        return item

    results = await fan_out(endless(), body, bound=bound, halts=lambda result: result == 10)
    assert results == list(range(1, 11))
    # While item 10 takes its one step, each other place may end an item and pull the next.
    assert pulled <= 10 + 2 * bound


@anyio_test
async def test_a_halt_is_hoped_for_while_one_that_was_taken_back_goes_on() -> None:
    """One gate is answered in the moment in which the last item at work ends; what stands behind it opens the other."""
    gates = [anyio.Event() for _ in range(2)]
    opened: list[int] = []

    async def answer(gate: int) -> None:
        gates[gate].set()

    async with anyio.create_task_group() as group:

        async def body(index: int, item: int) -> tuple[int, bool]:
            opened.append(index)
            await anyio.wait_all_tasks_blocked()
            if index < 2 and opened.count(index) == 1:
                return index, True
            await anyio.wait_all_tasks_blocked()
            if index > 0:
                group.start_soon(answer, index - 1)
            return index, False

        results = await fan_out(
            range(3), body, bound=3, halts=lambda result: result[1], revival=lambda result: gates[result[0]]
        )
    assert results == [(index, False) for index in range(3)]
    assert opened == [0, 1, 2, 1, 0]


@anyio_test
async def test_an_exception_of_an_item_cancels_the_others_and_is_raised() -> None:
    ended: list[int] = []

    async def body(index: int, item: int) -> None:
        try:
            if item == 1:
                raise KeyError("mine")
            await anyio.sleep(60)
        finally:
            ended.append(item)

    with pytest.raises(KeyError, match="mine"):
        await fan_out([0, 1, 2], body, bound=3)
    assert sorted(ended) == [0, 1, 2]


@anyio_test
async def test_an_exception_of_an_entrant_ends_the_race() -> None:
    ended: list[int] = []

    async def run(entrant: int) -> int:
        try:
            if entrant == 1:
                raise KeyError
            await anyio.sleep(60)
        finally:
            ended.append(entrant)
        return entrant

    with pytest.raises(KeyError):
        await race(3, run, bool, bound=3)
    assert sorted(ended) == [0, 1, 2]


@anyio_test
async def test_a_race_of_what_is_no_function_or_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match=r"calls functions, and 3 is none"):
        await race(1, 3, bool, bound=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"calls functions, and 'x' is none"):
        await race(1, bool, "x", bound=1)  # type: ignore[arg-type]
    for entrants, bound in ((1.0, 1), (1, 1.5), (True, 1), (1, "2")):
        with pytest.raises(TypeError, match="whole number"):
            await race(entrants, bool, bool, bound=bound)  # type: ignore[arg-type]


@anyio_test
@pytest.mark.parametrize("fixed", [False, True])
async def test_a_free_place_takes_the_next_entrant_unless_places_are_fixed(fixed: bool) -> None:
    begun: list[int] = []

    async def run(entrant: int) -> int:
        begun.append(entrant)
        while entrant == 0 and len(begun) < (3 if fixed else 4):
            await anyio.lowlevel.checkpoint()
        return entrant

    places = {"fixed_places": True} if fixed else {}
    with anyio.fail_after(60):
        ended = await race(5, run, lambda result: result == 4, bound=2, **places)
    assert ended.winner == 4
    assert begun.index(2) > begun.index(3) if fixed else begun[:4] == [0, 1, 2, 3]


@anyio_test
async def test_plain_entrants_run_in_threads_and_one_that_lost_goes_on_and_is_told() -> None:
    met, over = threading.Barrier(2), threading.Event()
    events, told = Events(), []
    events.subscribe(told.append)

    def run(entrant: int) -> int:
        met.wait(60)
        if entrant == 0:
            over.wait(60)
        return entrant

    try:
        ended = await race(2, run, lambda result: result == 1, bound=2, mode="fastest", events=events)
    finally:
        over.set()
    assert (ended.winner, ended.results, ended.not_stopped) == (1, {1: 1}, {0})
    assert [type(event) for event in told] == [Warned]

    async def later(entrant: int) -> int:
        return -entrant

    ended = await race(3, lambda entrant: later(entrant), lambda result: result < 0, bound=1)
    assert (ended.winner, ended.results, ended.not_stopped) == (1, {0: 0, 1: -1}, set())


def _taken(budget: Budget, amounts: dict[str, float]) -> AbstractContextManager[Reservation]:
    held = budget.take(amounts)
    assert held is not None
    return held


@pytest.mark.parametrize("ceilings", [{"hours": 1}, {"usd": -1}])
def test_budgets_have_known_kinds_and_no_negative_ceilings(ceilings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="ceilings of at least 0 on usd, tokens, calls"):
        Budget(ceilings)


@anyio_test
async def test_a_budget_says_what_is_left() -> None:
    budget = Budget({"usd": 1.0}, {"usd": 0.8})
    assert budget.left("usd") == pytest.approx(0.2)
    assert budget.left("calls") == float("inf")
    with pytest.raises(BudgetSpentError, match=r"0.5 usd asked for, 0.2 of 1 left"):
        await budget.room({"usd": 0.5})
    with _taken(budget, {"usd": 0.2}) as reservation:
        reservation.settle({"usd": 0.1, "odd": 3, "calls": 2})
    assert budget.spent["usd"] == pytest.approx(0.9)
    with _taken(budget, {}) as nothing:
        nothing.settle({"usd": 5})
    assert budget.spent["usd"] == pytest.approx(0.9)


@anyio_test
async def test_a_call_that_never_began_costs_nothing_one_that_died_costs_all() -> None:
    budget = Budget({"usd": 3.0})
    with _taken(budget, {"usd": 1.0}) as reservation:
        reservation.void()
    assert budget.spent["usd"] == 0
    holding = _taken(budget, {"usd": 1.0})
    with pytest.raises(KeyError), holding:
        raise KeyError
    assert budget.spent["usd"] == 1.0


@anyio_test
async def test_what_a_reservation_holds_can_count_as_spent_for_a_while_on_all_budgets_above() -> None:
    """Whoever waits for money inside of what was paid for waits for nobody: it is short, not tight."""
    run = Budget({"usd": 1.0})
    inner = Budget({"calls": 2}, parent=run)
    with _taken(inner, {"usd": 0.75, "calls": 2}) as reservation:
        assert (run.left("usd"), inner.left("calls"), inner.shortage({"usd": 0.5, "calls": 1})) == (0.25, 0, None)
        inner.count(reservation.amounts, 1)
        assert (run.left("usd"), inner.left("calls")) == (0.25, 0)
        assert (run.spent["usd"], inner.spent["calls"]) == (0.75, 2)
        assert inner.shortage({"calls": 1}) == "1 calls asked for, 0 of 2 left"
        assert inner.shortage({"usd": 0.5}) == "0.5 usd asked for, 0.25 of 1 left"
        inner.count(reservation.amounts, -1)
        assert (run.spent["usd"], inner.spent["calls"]) == (0, 0)
        reservation.settle({"usd": 0.5, "calls": 1})
    assert (run.left("usd"), inner.left("calls"), run.spent["usd"], inner.spent["calls"]) == (0.5, 1, 0.5, 1)


@anyio_test
async def test_tenths_fit_exactly() -> None:
    budget = Budget({"usd": 0.3})
    for _ in range(3):
        with _taken(budget, {"usd": 0.1}):
            pass


@given(st.integers(1, 12), st.floats(0, 100), st.floats(1, 4), st.floats(0, 200), st.floats(0, 1), st.integers())
def test_delays(attempts: int, delay: float, backoff: float, most: float, jitter: float, seed: int) -> None:
    delays = list(Retry(attempts, delay, backoff, most, jitter).delays(Random(seed)))
    assert len(delays) == attempts - 1
    for number, found in enumerate(delays):
        whole = min(delay * backoff**number, most)
        assert whole * (1 - jitter) - 1e-6 <= found <= whole + 1e-6


def test_which_outcomes_are_tried_again() -> None:
    failed = Outcome(Status.FAILED, kind="timeout")
    assert Retry(2).wants(failed)
    assert Retry(2, on=("timeout",)).wants(failed)
    assert not Retry(2, on=("exit",)).wants(failed)
    assert not Retry(2).wants(Outcome())
    assert not Retry(2).wants(Outcome(Status.PAUSED))
    assert list(ONCE.delays(Random(0))) == []


@given(st.text(min_size=8), st.text(), st.text())
def test_no_secret_is_left_in_text_or_in_json(secret: str, before: str, after: str) -> None:
    masker = Masker({"S": secret})
    if len(secret.encode("utf-8", "surrogatepass")) < 8:
        return
    for text in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        masked = masker.text(f"{before}{text}{after}")
        assert text not in masked.replace(MASK, "") or text in f"{before}{after}" or text in MASK


def test_short_secrets_are_left_and_longer_ones_come_first() -> None:
    masker = Masker({"short": "1234567", "inner": "password", "outer": "my password 1"})
    assert masker.text("1234567") == "1234567"
    assert masker.text("a my password 1 b password") == f"a {MASK} b {MASK}"
    assert Masker().text("as it is") == "as it is"


def test_a_consumer_that_raises_is_dropped_and_said() -> None:
    events = Events()
    heard: list[Any] = []

    def broken(event: object) -> None:
        raise KeyError("x")

    events.subscribe(broken)
    events.subscribe(heard.append)
    events.emit(Warned(1.0, "one"))
    events.emit(Warned(2.0, "two"))
    texts = [event.text for event in heard]
    assert texts[-1] == "two"
    assert "one" in texts
    assert sum("hears no more events" in text for text in texts) == 1


def test_the_system_clock() -> None:
    clock = SystemClock()
    assert abs(clock.wall() - time.time()) < 5
    assert clock.monotonic() <= clock.monotonic()
