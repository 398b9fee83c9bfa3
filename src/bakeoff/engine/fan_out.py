"""Fan-out: one body over many items, a bounded number open at once, started and returned in item order."""

from __future__ import annotations

import heapq
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint_if_cancelled

from bakeoff.engine.failures import WorkGroup, is_stray, named, work_group

Item = TypeVar("Item")
Result = TypeVar("Result")


async def fan_out(
    items: Iterable[Item],
    body: Callable[[int, Item], Awaitable[Result]],
    *,
    bound: int,
    halts: Callable[[Result], bool] = lambda _: False,
    on_halt: str = "finish",
    revival: Callable[[Result], anyio.Event | None] = lambda _: None,
) -> list[Result]:
    """Run `body(index, item)` for every item, at most `bound` at once, and return the results in item order.

    A place that falls free is taken at once by the next item. When a result halts, no new item starts and the
    returned list ends with the first halting result in item order; items before it always finish, items after
    it finish too (`on_halt="finish"`) or are cancelled (`"cancel"`).

    Args:
        items: pulled one by one as places fall free.
        body: must turn failures into results; an exception cancels every item and is raised, as one of `items` is.
        bound: most items open at once, at least 1.
        halts: whether a result halts the fan-out.
        on_halt: `finish` or `cancel`.
        revival: for a halting result, an event whose setting (while other items are still open) takes the halt
            back: the item's body runs once more. None where nothing can.

    Raises:
        ValueError: `bound` is less than 1.
    """
    if bound < 1:
        raise ValueError(f"the bound of a fan-out must be at least 1, not {bound}")
    fan = _FanOut(items, body, halts, on_halt == "cancel", revival)
    if bound == 1:
        return await fan.run_alone()
    return await fan.run(bound)


class _FanOut(Generic[Item, Result]):
    """The state of one fan-out. All of it is touched in the event loop's thread only."""

    def __init__(
        self,
        items: Iterable[Item],
        body: Callable[[int, Item], Awaitable[Result]],
        halts: Callable[[Result], bool],
        cancels: bool,
        revival: Callable[[Result], anyio.Event | None],
    ) -> None:
        self.pending = iter(enumerate(items))
        self.body = body
        self.halts = halts
        self.cancels = cancels
        self.revival = revival
        self.results: dict[int, Result] = {}
        self.halted: set[int] = set()
        self.scopes: dict[int, anyio.CancelScope] = {}
        self.ready: list[tuple[int, Item]] = []  # pulled, or cancelled by a halt that may be taken back; a heap
        self.hoping: list[anyio.Event] = []  # what would take back the halts that stand
        self.working = 0
        self.idle = anyio.Event()
        self.exhausted = False
        self.pulled = 0
        self.workers = 0
        self.coming = 0  # workers that have not chosen their first item yet

    async def run_alone(self) -> list[Result]:
        """The same with one place: no tasks, no halts to attribute, nobody to revive for."""
        results: list[Result] = []
        try:
            for index, item in self.pending:
                results.append(await self.body(index, item))
                if self.halts(results[-1]):
                    break
        except BaseException as failure:
            if is_stray(failure):
                told = named(failure)
                raise told from failure
            raise
        return results

    async def run(self, bound: int) -> list[Result]:
        async with work_group() as group:
            self.hire(group, bound)
        last = min(self.halted, default=None)
        count = self.pulled if last is None else last + 1
        if len(self.results) < count:
            await checkpoint_if_cancelled()
        assert last is not None or (self.exhausted and len(self.results) == count), "items are missing"
        return [self.results[index] for index in range(count)]

    def hire(self, group: WorkGroup, bound: int) -> None:
        """Start workers, as many as there are items for, up to the bound."""
        while self.workers < bound and not self.halted and self.fetch():
            self.workers += 1
            self.coming += 1
            group.start(self.work, group, bound)

    def fetch(self) -> bool:
        """See to it that one more worker will find an item."""
        if len(self.ready) <= self.coming:
            found = self.pull()
            if found is None:
                return False
            heapq.heappush(self.ready, found)
        return True

    def pull(self) -> tuple[int, Item] | None:
        found = None if self.exhausted else next(self.pending, None)
        self.exhausted = found is None
        self.pulled += found is not None
        return found

    def next_item(self) -> tuple[int, Item] | None:
        """The lowest item not yet open; while a halt stands, only one below it, for those always finish."""
        lowest_halt = min(self.halted, default=None)
        if self.ready and (lowest_halt is None or self.ready[0][0] < lowest_halt):
            return heapq.heappop(self.ready)
        return self.pull() if lowest_halt is None else None

    async def work(self, group: WorkGroup, bound: int) -> None:
        # Chosen here and not by `hire`: tasks may start in any order, items do not.
        self.coming -= 1
        while (current := self.next_item()) is not None:
            await self.open(group, bound, *current)
        self.workers -= 1

    async def open(self, group: WorkGroup, bound: int, index: int, item: Item) -> None:
        """One item, from its start to the result that stands."""
        self.begin()
        try:
            while True:
                result = await self.attempt(index, item)
                if isinstance(result, _Cancelled):
                    heapq.heappush(self.ready, (index, item))
                    return
                self.results[index] = result
                if not self.halts(result):
                    return
                self.halt(index)
                if not await self.revived(result):
                    return
                self.halted.discard(index)
                self.hire(group, bound)
        finally:
            self.rest()

    async def attempt(self, index: int, item: Item) -> Result | _Cancelled:
        if not self.cancels:
            return await self.body(index, item)
        with anyio.CancelScope() as scope:
            self.scopes[index] = scope
            if self.halted and index > min(self.halted):
                scope.cancel()
            try:
                return await self.body(index, item)
            finally:
                del self.scopes[index]
        return _CANCELLED

    def halt(self, index: int) -> None:
        self.halted.add(index)
        for other, scope in self.scopes.items():
            if other > index:
                scope.cancel()

    def begin(self) -> None:
        if self.working == 0:
            self.idle = anyio.Event()
        self.working += 1

    def rest(self) -> None:
        self.working -= 1
        if self.working == 0:
            self.idle.set()

    async def revived(self, result: Result) -> bool:
        """Wait while others work; True when the halt was taken back before the last of them ended."""
        event = self.revival(result)
        if event is None:
            return False
        self.rest()
        self.hoping.append(event)
        try:
            # One that was answered goes on in a moment, so it counts as work for the others that wait.
            while not event.is_set() and (self.working or any(other.is_set() for other in self.hoping)):
                async with anyio.create_task_group() as group:

                    async def until_idle(group: TaskGroup = group) -> None:
                        await self.idle.wait()
                        group.cancel_scope.cancel()

                    group.start_soon(until_idle)
                    await event.wait()
                    group.cancel_scope.cancel()
            return event.is_set()
        finally:
            self.hoping.remove(event)
            self.begin()


class _Cancelled:
    """Stands for the result of an item that was cancelled because a lower one halted."""


_CANCELLED = _Cancelled()
