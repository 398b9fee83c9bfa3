"""Contexts that tasks share: opened once, closed when nobody needs them, whatever happens to whom."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from bakeoff.engine.sharing import Shared, sharing

pytestmark = pytest.mark.anyio


class Things:
    """Makes contexts and remembers what happened to them."""

    def __init__(self, *, slow: bool = False, fails: int = 0) -> None:
        self.log: list[str] = []
        self.go = anyio.Event()
        self.fails = fails
        if not slow:
            self.go.set()

    def make(self, name: str):
        @asynccontextmanager
        async def made() -> AsyncIterator[str]:
            self.log.append(f"open {name}")
            await self.go.wait()
            if self.fails:
                self.fails -= 1
                raise ValueError(name)
            try:
                yield name
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.lowlevel.checkpoint()
                self.log.append(f"close {name}")

        return made


async def test_one_is_shared_and_the_latest_is_kept() -> None:
    things = Things()
    async with sharing(idle=1) as shared:
        async with shared.using("a", things.make("a")) as one, shared.using("a", things.make("a")) as two:
            assert one == two == "a"
        async with shared.using("a", things.make("a")):
            pass
        assert things.log == ["open a"]
        async with shared.using("b", things.make("b")):
            assert "close a" not in things.log
        await anyio.wait_all_tasks_blocked()
        assert things.log == ["open a", "open b", "close a"]
    assert things.log == ["open a", "open b", "close a", "close b"]


async def test_without_idle_ones_it_is_closed_at_once() -> None:
    things = Things()
    async with sharing() as shared:
        for _ in range(2):
            async with shared.using("a", things.make("a")):
                pass
            await anyio.wait_all_tasks_blocked()
    assert things.log == ["open a", "close a"] * 2


async def test_a_failure_reaches_all_who_wait_and_the_next_one_tries_again() -> None:
    things = Things(slow=True, fails=1)
    failed: list[str] = []

    async def use(shared: Shared[str]) -> None:
        try:
            async with shared.using("a", things.make("a")):
                raise AssertionError("it was opened")
        except ValueError as failure:
            failed.append(str(failure))

    async with sharing() as shared:
        async with anyio.create_task_group() as group:
            group.start_soon(use, shared)
            group.start_soon(use, shared)
            await anyio.wait_all_tasks_blocked()
            things.go.set()
        assert failed == ["a", "a"]
        async with shared.using("a", things.make("a")) as value:
            assert value == "a"


async def test_whoever_is_cancelled_while_it_opens_leaves_it_to_the_others() -> None:
    things = Things(slow=True)
    got: list[str] = []

    async def use(shared: Shared[str]) -> None:
        async with shared.using("a", things.make("a")) as value:
            got.append(value)

    async with sharing() as shared, anyio.create_task_group() as others:
        with anyio.move_on_after(0.01):
            await use(shared)
        others.start_soon(use, shared)
        await anyio.wait_all_tasks_blocked()
        things.go.set()
    assert got == ["a"]
    assert things.log.count("close a") == things.log.count("open a")


@pytest.mark.parametrize("opening", [True, False])
async def test_cancelled_all_is_closed_after_its_users_have_left(opening: bool) -> None:
    things = Things(slow=opening)
    order: list[str] = []
    with anyio.CancelScope() as scope:
        async with sharing() as shared, anyio.create_task_group() as group:

            async def use() -> None:
                try:
                    async with shared.using("a", things.make("a")):
                        await anyio.sleep(60)
                finally:
                    with anyio.CancelScope(shield=True):
                        await anyio.lowlevel.checkpoint()
                    order.append("left")
                    assert "close a" not in things.log

            group.start_soon(use)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    assert order == ["left"]
    assert things.log == (["open a"] if opening else ["open a", "close a"])


async def test_a_failure_of_closing_is_not_hidden() -> None:
    @asynccontextmanager
    async def made() -> AsyncIterator[None]:
        yield
        raise ValueError("cannot be closed")

    with pytest.raises(ValueError, match="cannot be closed"):
        async with sharing() as shared, shared.using("a", made):
            pass
