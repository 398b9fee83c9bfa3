"""Pool of slots, first come first served: at most N at once, made when they are needed, none of them ever lost."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar

import anyio

from bakeoff.workspace.blocking import StoppedError, in_thread
from bakeoff.workspace.errors import SlotError, WorkspaceError
from bakeoff.workspace.full_disk import full_disk, is_full

Item = TypeVar("Item")


class Maker(Protocol[Item]):
    """Makes, cleans and ends what a pool holds. Its methods block; they are called in threads."""

    def make(self) -> Item:
        """A new one, ready; when this raises, nothing of it is left."""

    def clean(self, item: Item) -> None:
        """Make it as new, keeping first what was made in it."""

    def discard(self, item: Item) -> None:
        """End it, keeping first what was made in it."""


def _into(made: list[Item], make: Callable[[], Item]) -> None:
    # Into a list, so that what was made is not lost when the waiting for it is cancelled.
    made.append(make())


class _Waiter:
    __slots__ = ("failure", "granted")

    def __init__(self) -> None:
        self.granted = anyio.Event()
        self.failure: SlotError | None = None


class SlotPool(Generic[Item]):
    """At most `size` items, leased first come first served.

    One that cannot be made is told to `warn` and makes the pool smaller by one; when none can be made, whoever waits
    gets SlotError. One that cannot be cleaned is told to `warn` and replaced.

    Args:
        size: how many at once, at least 1.
        maker: makes, cleans and ends them.
        warn: told in words what went wrong without ending anything.

    Raises:
        ValueError: the size is less than 1.
    """

    def __init__(self, size: int, maker: Maker[Item], warn: Callable[[str], None]) -> None:
        if size < 1:
            raise ValueError(f"a pool has at least 1 slot, not {size}")
        self.size = size
        self._maker = maker
        self._warn = warn
        self._free = size
        self._idle: list[Item] = []
        self._waiting: deque[_Waiter] = deque()

    @property
    def idle(self) -> int:
        """Number of slots that are made and not leased."""
        return len(self._idle)

    @asynccontextmanager
    async def lease(self, make: Callable[[], Item] | None = None) -> AsyncIterator[Item]:
        """Wait for an item and hold it while inside; it is cleaned before this returns, also when cancelled.

        With `make` it is one of another sort, which is made so, and ended instead of cleaned. Cancelled while waiting,
        nothing is held.

        Passes on SlotError: none can be made.
        """
        item = await self._take(make)
        try:
            yield item
        finally:
            with anyio.CancelScope(shield=True):
                if make is None:
                    await self._give_back(item)
                else:
                    await self._discard(item)
                    self._release()

    @asynccontextmanager
    async def lease_free(self) -> AsyncIterator[Item | None]:
        """The same where an item is free or can be made; else None, without waiting for others to give theirs back.

        Passes on SlotError: this was the last that could have been made.
        """
        item = None
        if self._free > 0 and not self._waiting:
            self._free -= 1
            item = await self._get()
        try:
            yield item
        finally:
            if item is not None:
                with anyio.CancelScope(shield=True):
                    await self._give_back(item)

    async def close(self) -> None:
        """End all that are not leased; one that cannot be ended does not keep the others."""
        with anyio.CancelScope(shield=True):
            while self._idle:
                await self._discard(self._idle.pop())

    async def _take(self, make: Callable[[], Item] | None) -> Item:
        again = False
        while True:
            await self._permit(front=again)
            item = await self._get(make)
            if item is not None:
                return item
            again = True

    async def _get(self, make: Callable[[], Item] | None = None) -> Item | None:
        """An item for who has a permit; None, and no permit, where none could be made."""
        if self._idle and make is None:
            return self._idle.pop()
        made: list[Item] = []
        try:
            await in_thread(_into, made, make or self._maker.make)
            return made.pop()
        except (WorkspaceError, OSError) as failure:
            self._shrink(failure)
            return None
        except BaseException:
            if make is None:
                self._idle += made  # cancelled when it was just ready: the next one has it
            else:
                with anyio.CancelScope(shield=True):
                    for item in made:
                        await self._discard(item)
            self._release()
            raise

    async def _permit(self, *, front: bool) -> None:
        if self.size == 0:
            raise SlotError("no slot can be made; see what was said of each")
        if self._free > 0 and (front or not self._waiting):
            self._free -= 1
            return
        waiter = _Waiter()
        if front:
            self._waiting.appendleft(waiter)
        else:
            self._waiting.append(waiter)
        try:
            await waiter.granted.wait()
        except BaseException:
            if not waiter.granted.is_set():
                self._waiting.remove(waiter)
            elif waiter.failure is None:
                self._release()
            raise
        if waiter.failure is not None:
            raise waiter.failure

    def _release(self) -> None:
        """Hand the permit to who has waited longest."""
        if self._waiting:
            self._waiting.popleft().granted.set()
        else:
            self._free += 1

    def _shrink(self, failure: Exception) -> None:
        """Go on with one slot less; with none left, tell all who wait."""
        self.size -= 1
        why = full_disk(failure) if isinstance(failure, OSError) and is_full(failure) else str(failure)
        self._warn(f"a slot could not be made, {self.size} left: {why}")
        if self.size > 0:
            return
        told = SlotError(f"no slot can be made: {why}")
        told.__cause__ = failure
        while self._waiting:
            waiter = self._waiting.popleft()
            waiter.failure = told
            waiter.granted.set()
        raise told

    async def _give_back(self, item: Item) -> None:
        try:
            await in_thread(self._maker.clean, item)
        except StoppedError:
            await self._discard(item)
        except Exception as failure:
            self._warn(f"a slot could not be cleaned and is replaced: {failure}")
            await self._discard(item)
        else:
            self._idle.append(item)
        finally:
            self._release()

    async def _discard(self, item: Item) -> None:
        try:
            await in_thread(self._maker.discard, item)
        except StoppedError:
            self._warn("a slot was left as it is: its work is saved when the run goes on, or by `bakeoff clean`")
        except Exception as failure:
            self._warn(f"a slot could not be ended: {failure}")
