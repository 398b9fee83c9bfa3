"""Leasing: at most N, first come first served, and nothing is lost whatever ends an attempt."""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import anyio.lowlevel
import pytest

from bakeoff.workspace.blocking import Stop, StoppedError, current_stop, in_thread
from bakeoff.workspace.errors import SlotError
from bakeoff.workspace.slots.pool import SlotPool
from bakeoff.workspace.workspace import open_workspace
from workspace.conftest import Checkout, settings, sh

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request) -> str:
    return request.param


class Numbers:
    """A maker of numbers, which fails where it is told to."""

    def __init__(self, bad: Callable[[str, int], bool] = lambda what, number: False) -> None:
        self.bad = bad
        self.made = 0
        self.alive: set[int] = set()
        self.discarded: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def make(self) -> int:
        self.made += 1
        number = self.made
        self.entered.set()
        self.gate.wait(60)
        if self.bad("make", number):
            raise OSError(f"no {number}")
        self.alive.add(number)
        return number

    def clean(self, item: int) -> None:
        if self.bad("clean", item):
            raise OSError(f"dirty {item}")

    def discard(self, item: int) -> None:
        self.alive.discard(item)
        self.discarded.append(item)
        if self.bad("discard", item):
            raise OSError(f"stuck {item}")


async def all_places_are_there(pool: SlotPool[int], size: int) -> None:
    """As many as `size` can be leased at once, and no more."""
    at_once = []
    full = anyio.Event()

    async def hold() -> None:
        async with pool.lease() as item:
            at_once.append(item)
            if len(at_once) == size:
                full.set()
            await full.wait()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(size):
                tasks.start_soon(hold)
    assert len(set(at_once)) == size


async def test_more_attempts_than_slots_that_all_pass() -> None:
    maker, warnings = Numbers(), []
    pool = SlotPool(2, maker, warnings.append)
    held, most, done = 0, 0, []

    async def attempt(number: int) -> None:
        nonlocal held, most
        async with pool.lease():
            held += 1
            most = max(most, held)
            await anyio.lowlevel.checkpoint()
            held -= 1
            done.append(number)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(attempt, number)
    assert sorted(done) == list(range(20))
    assert most <= 2
    assert pool.idle == maker.made <= 2
    await all_places_are_there(pool, 2)
    await pool.close()
    assert maker.alive == set()


async def test_first_come_first_served_and_made_when_needed() -> None:
    maker = Numbers()
    pool = SlotPool(1, maker, print)
    assert maker.made == 0
    order: list[int] = []

    async def attempt(number: int) -> None:
        async with pool.lease():
            order.append(number)

    async with anyio.create_task_group() as tasks:
        async with pool.lease():
            for number in range(5):
                tasks.start_soon(attempt, number)
                await anyio.wait_all_tasks_blocked()
            assert order == []
    assert order == list(range(5))


@pytest.mark.parametrize("steps", range(14))
async def test_cancelled_at_any_step_nothing_is_lost(steps: int) -> None:
    maker = Numbers()
    pool = SlotPool(2, maker, print)

    async def attempt() -> None:
        async with pool.lease():
            await anyio.lowlevel.checkpoint()

    async with pool.lease(), anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(attempt)
        for _ in range(steps):
            await anyio.sleep(0.0005)
        tasks.cancel_scope.cancel()
    await all_places_are_there(pool, 2)
    await pool.close()
    assert maker.alive == set()


async def test_one_that_is_free_is_leased_without_waiting() -> None:
    maker, warnings = Numbers(lambda what, number: (what, number) == ("make", 2)), []
    pool = SlotPool(3, maker, warnings.append)
    with anyio.fail_after(60):
        async with pool.lease() as first, pool.lease_free() as failing, pool.lease_free() as other:
            assert (first, failing, other) == (1, None, 3)
            assert "2 left" in warnings[0]
            async with pool.lease_free() as none:
                assert none is None
        async with pool.lease_free() as again:
            assert again in (1, 3)
    await all_places_are_there(pool, 2)


async def test_a_free_one_is_not_taken_from_who_waits_for_it() -> None:
    pool = SlotPool(1, Numbers(), print)
    async with anyio.create_task_group() as tasks:
        async with pool.lease():
            tasks.start_soon(all_places_are_there, pool, 1)
            await anyio.wait_all_tasks_blocked()
            async with pool.lease_free() as none:
                assert none is None


async def test_cancelled_while_one_is_made_it_is_there_for_the_next() -> None:
    maker = Numbers()
    maker.gate.clear()
    pool = SlotPool(1, maker, print)

    async def attempt() -> None:
        async with pool.lease():
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(attempt)
        await anyio.to_thread.run_sync(maker.entered.wait, 20)
        tasks.cancel_scope.cancel()
        maker.gate.set()
    assert pool.idle == 1
    async with pool.lease() as item:
        assert item == 1


async def test_cancelled_just_as_it_was_granted_the_next_is_served() -> None:
    pool = SlotPool(1, Numbers(), print)
    scopes = [anyio.CancelScope(), anyio.CancelScope()]
    got: list[int] = []

    async def attempt(number: int) -> None:
        with scopes[number]:
            async with pool.lease():
                await anyio.lowlevel.checkpoint()
                got.append(number)

    async with anyio.create_task_group() as tasks:
        async with pool.lease():
            for number in range(2):
                tasks.start_soon(attempt, number)
                await anyio.wait_all_tasks_blocked()
        scopes[0].cancel()  # granted by now, and not yet awake
    assert got == [1]
    await all_places_are_there(pool, 1)


async def test_one_that_cannot_be_made_makes_the_pool_smaller() -> None:
    warnings: list[str] = []
    pool = SlotPool(3, Numbers(lambda what, number: what == "make" and number < 3), warnings.append)
    await all_places_are_there(pool, 1)
    done = []

    async def attempt() -> None:
        async with pool.lease() as item:
            done.append(item)

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(attempt)
    assert done == [3] * 6
    assert pool.size == 1
    assert len(warnings) == 2
    assert "2 left: no 1" in warnings[0]


async def test_when_none_can_be_made_all_who_wait_are_told() -> None:
    pool = SlotPool(2, Numbers(lambda what, number: what == "make"), lambda text: None)
    told: list[str] = []

    async def attempt() -> None:
        with pytest.raises(SlotError) as raised:
            async with pool.lease():
                raise AssertionError("there is none")
        told.append(str(raised.value))

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(attempt)
    assert len(told) == 5
    await attempt()
    with pytest.raises(ValueError, match="at least 1"):
        SlotPool(0, Numbers(), print)


async def test_one_that_cannot_be_cleaned_or_ended_stops_no_other() -> None:
    warnings: list[str] = []
    maker = Numbers(lambda what, number: number == 1 and what != "make")
    pool = SlotPool(2, maker, warnings.append)
    await all_places_are_there(pool, 2)
    assert warnings == [
        "a slot could not be cleaned and is replaced: dirty 1", "a slot could not be ended: stuck 1",
    ]  # fmt: skip
    await all_places_are_there(pool, 2)
    maker.bad = lambda what, number: what == "discard"
    await pool.close()
    assert maker.alive == set()
    assert len(warnings) == 4


async def test_an_attempt_that_raises_gives_its_slot_back() -> None:
    pool = SlotPool(1, Numbers(), print)
    with pytest.raises(KeyError):
        async with pool.lease():
            raise KeyError
    await all_places_are_there(pool, 1)


async def test_a_thread_is_told_to_stop_and_waited_for() -> None:
    ended = threading.Event()
    begun = threading.Event()

    def work() -> None:
        begun.set()
        try:
            while True:
                current_stop().check(0.005)
        finally:
            ended.set()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(in_thread, work)
            await anyio.to_thread.run_sync(begun.wait, 20)
            tasks.cancel_scope.cancel()
    assert ended.is_set()
    assert await in_thread(lambda: 7) == 7
    with pytest.raises(KeyError):
        await in_thread({}.__getitem__, "x")
    stop = Stop()
    stop.ask()
    with pytest.raises(StoppedError):
        stop.check()


async def test_a_running_git_is_killed_by_cancelling(tmp_path, monkeypatch) -> None:
    from bakeoff.workspace.repository.git import Git

    (tmp_path / "git").write_text(f"#!/bin/sh\n: > {tmp_path}/begun\nexec sleep 600\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    async def seen() -> None:
        while not (tmp_path / "begun").exists():
            await anyio.sleep(0.005)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(in_thread, Git().run, "status")
            await seen()
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "delay",
    [
        0.0,
        0.01,
        0.04,
        *(pytest.param(delay, marks=pytest.mark.soak(only=True)) for delay in (0.002, 0.005, 0.02, 0.08)),
    ],
)
async def test_real_slots_survive_cancelling(project: Checkout, delay: float) -> None:
    before = project.digest()
    async with open_workspace(project.root, settings(), "run", slots=2) as workspace:

        async def attempt(number: int) -> None:
            async with workspace.lease() as slot:
                await in_thread(sh, slot, f"echo {number} > work.txt")
                await slot.commit(f"n{number}")

        with anyio.move_on_after(delay):
            async with anyio.create_task_group() as tasks:
                for number in range(4):
                    tasks.start_soon(attempt, number)
        async with anyio.create_task_group() as tasks:
            for number in range(10, 14):
                tasks.start_soon(attempt, number)
        assert {f"refs/bakeoff/run/n{number}" for number in range(10, 14)} <= set(workspace.repository.refs("refs"))
        assert len(list(workspace.cache.slots.glob("*.lock"))) <= 2
        assert workspace.warnings == []
    assert list(workspace.cache.slots.iterdir()) == []
    assert project.digest() == before


async def test_two_pools_on_one_repository(project: Checkout) -> None:
    async with (
        open_workspace(project.root, settings(), "one", slots=1) as first,
        open_workspace(project.root, settings(kind="repository"), "two", slots=1) as second,
        first.lease() as one,
        second.lease() as two,
    ):
        assert one.id != two.id
        assert set(one.ports.numbers).isdisjoint(two.ports.numbers)
        sh(one, "echo one > a.txt")
        sh(two, "echo two > a.txt")
        assert (await one.commit("n")).tree != (await two.commit("n")).tree
        assert first.swept.slots == second.swept.slots == []


async def test_a_body_that_raises_is_heard_as_it_is(project: Checkout) -> None:
    with pytest.raises(KeyError):
        async with open_workspace(project.root, settings(), "run") as workspace, workspace.lease():
            raise KeyError("x")
    assert list(workspace.cache.slots.iterdir()) == []
