"""The gate in virtual time, against a server with a token bucket; the bounds are those of the prototype's table."""

from __future__ import annotations

import math
import random

import anyio
import pytest
import trio
import trio.testing

from bakeoff.model.protocol import Usage
from bakeoff.model.rate import controller
from bakeoff.model.rate.controller import Limits, State
from bakeoff.model.rate.gate import Gate, Memory
from model.rate_world import Server, measured

OWNER = (1, 0.0, 0)
SEEDS = range(3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_burst_of_ten(seed):
    server = Server(burst=10)
    makespan, _ = measured(server, seed=seed)
    assert server.rejected <= 0.10
    assert makespan <= 1.15


@pytest.mark.parametrize("seed", SEEDS)
def test_no_burst_at_all(seed):
    server = Server(burst=1)
    makespan, _ = measured(server, seed=seed)
    assert server.rejected <= 0.10
    assert makespan <= 1.4


@pytest.mark.parametrize("seed", SEEDS)
def test_a_limit_that_drops_from_ten_to_three(seed):
    server = Server(rate=lambda now: 10.0 if now < 10 else 3.0)
    makespan, _ = measured(server, seed=seed)
    assert server.rejected <= 0.12
    assert makespan <= 1.15


@pytest.mark.parametrize("seed", SEEDS)
def test_a_limit_that_rises_from_three_to_ten_is_found(seed):
    server = Server(rate=lambda now: 3.0 if now < 10 else 10.0)
    makespan, _ = measured(server, seed=seed)
    assert server.rejected <= 0.12
    assert makespan <= 1.25


@pytest.mark.parametrize("burst", [1, 10])
def test_a_declared_limit_is_kept_without_asking_too_often(burst):
    server = Server(burst=burst)
    makespan, _ = measured(server, limits=Limits(requests_per_minute=600))
    assert server.rejected <= 0.02
    assert makespan <= 1.1


@pytest.mark.parametrize("seed", SEEDS)
def test_few_places_narrow_the_window_and_not_the_rate(seed):
    server = Server(rate=lambda now: 1e4, burst=1e4, places=8)
    makespan, _ = measured(server, seed=seed, requests=1600)
    assert server.rejected <= 0.09
    assert makespan * server.best(1600) <= 1.3 * 1600 / 8 * 0.2


@pytest.mark.parametrize("burst", [1, 10])
def test_two_processes_share_and_end_together(burst):
    server = Server(burst=burst)
    makespan, ends = measured(server, gates=2)
    assert max(ends) / min(ends) <= 1.05
    assert server.rejected <= 0.10
    assert makespan <= 1.4


def test_two_owners_share_few_places_though_one_came_first():
    served = {0: 0, 1: 0}
    gates = []

    async def main():
        store = Memory()
        gates.extend(Gate(store, Limits(max_in_flight=8), clock=trio.current_time) for _ in range(2))
        store.state.window = 100

        async def worker(number):
            while True:
                async with gates[number].admit():
                    await trio.sleep(1)
                    served[number] += 1

        with trio.move_on_after(60):
            async with trio.open_nursery() as nursery:
                for number in (0, 1):
                    for _ in range(16):
                        nursery.start_soon(worker, number)
                    await trio.sleep(2.5)  # the first one has all the places by then

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert served[0] == pytest.approx(served[1], rel=0.12)
    assert sum(served.values()) >= 8 * 55


def test_one_decrease_an_episode():
    state, limits = State(), Limits()
    for number in range(20):
        assert controller.admit(state, Limits(), OWNER, 0.1 * number, 0.0, 0) == 0 or True
        state.window = 100
    for _ in range(3):
        controller.too_often(state, limits, 1.0, 2.0)
    # Twenty sent within two seconds, three of them answered 429.
    assert state.rate == pytest.approx(0.7 * 17 / 2)
    begun = state.lowered_at
    controller.too_often(state, limits, 1.5, 3.0)
    assert state.lowered_at == begun
    controller.too_often(state, limits, 2.5, 3.0)
    assert state.lowered_at == 3.0


def test_an_answer_from_two_episodes_ago_says_nothing():
    state, limits = State(lowered_at=10.0, rate=5.0, last=controller.Episode(5.0, 5.0, 40, 8.0, 1.0)), Limits()
    controller.too_often(state, limits, 4.0, 11.0)
    assert (state.rate, state.last.admitted) == (5.0, 40)


def test_429_leaves_the_window_and_503_the_rate():
    state = State()
    controller.admit(state, Limits(), OWNER, 0.0, 0.0, 0)
    controller.too_often(state, Limits(), 0.0, 0.1)
    assert state.window == controller.FIRST_WINDOW
    state = State(window=16.0)
    for _ in range(8):
        controller.admit(state, Limits(), OWNER, 0.0, 0.0, 0)
    controller.too_many(state, 0.0, 8, 1.0)
    assert (state.rate, state.window) == (math.inf, 0.75 * 8)
    controller.too_many(state, 0.5, 8, 1.1)
    assert state.window == 0.75 * 8
    controller.accepted(state)
    assert state.window == pytest.approx(6 + 1 / 6)


def test_a_rate_that_is_not_used_does_not_grow():
    state = State(rate=10.0, lowered_at=0.0, known=1.0, touched=0.0)
    for second in range(1, 400):
        slot = controller.take_slot(state, Limits(), float(second))
        assert controller.admit(state, Limits(), OWNER, float(second), slot, 0) == 0
        controller.ended(state, OWNER)
    assert controller.rate_now(state, Limits()) == 10.0


def test_what_was_learned_is_forgotten_after_a_long_silence():
    state = State(rate=1.0, window=1.0, narrowed_at=1.0, lowered_at=1.0, touched=100.0)
    controller.take_slot(state, Limits(), 100.0 + controller.FORGET + 1)
    assert (state.rate, state.window) == (math.inf, controller.FIRST_WINDOW)


def test_declared_tokens_are_spread():
    """6,000 tokens a minute are 98 a second with the margin, and ten seconds' worth may go at once."""
    times = []

    async def main():
        gate = Gate(limits=Limits(tokens_per_minute=6000), clock=trio.current_time)
        start = trio.current_time()
        for _ in range(30):
            async with gate.admit(tokens=200) as ticket:
                times.append(trio.current_time() - start)
                ticket.succeeded(Usage(50, 48))  # half of what was expected: that counts

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    spent = 98 * 30
    assert times[5] < 0.01
    assert times[-1] == pytest.approx((spent - 98 * controller.TOKEN_BURST) / 98, rel=0.1)


def test_tokens_of_a_rejected_request_are_given_back():
    state, limits = State(), Limits(tokens_per_minute=6000)
    assert controller.admit(state, limits, OWNER, 0.0, 0.0, 980) == 0
    assert state.next_tokens == pytest.approx(10)
    controller.used_tokens(state, limits, 980, 0)
    assert state.next_tokens == pytest.approx(0)


def test_retry_after_is_given_to_that_request_with_jitter():
    async def main():
        gate = Gate(chance=random.Random(1))
        waits = []
        for _ in range(50):
            async with gate.admit() as ticket:
                waits.append(ticket.rejected("server", 2.0))
        assert min(waits) >= 2.0
        assert 2.15 < max(waits) < 2.2
        async with gate.admit() as ticket:
            assert ticket.rejected("server") is None

    anyio.run(main)
