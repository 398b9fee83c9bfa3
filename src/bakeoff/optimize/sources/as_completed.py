"""Results of several pieces of work at once, in the order in which they complete."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

T = TypeVar("T")


async def as_completed(works: Sequence[Callable[[], Awaitable[T]]]) -> AsyncGenerator[T, None]:
    """The results of all works, the first to end first; what one raises is raised when all others were given.

    Closed or cancelled, it ends those that go on. Close it in the task that iterates over it (`aclosing`).
    """
    results, failures = deque[T](), list[Exception]()
    left, changed = len(works), anyio.Event()

    async def run(work: Callable[[], Awaitable[T]]) -> None:
        nonlocal left
        # Nothing is raised into the group: it would cancel the one who iterates.
        try:
            results.append(await work())
        except Exception as failure:
            failures.append(failure)
        left -= 1
        changed.set()

    async with anyio.create_task_group() as tasks:
        for work in works:
            tasks.start_soon(run, work)
        try:
            while left or results:
                while results:
                    yield results.popleft()
                if left:
                    changed = anyio.Event()
                    await changed.wait()
        except GeneratorExit:
            tasks.cancel_scope.cancel()
            return
    if failures:
        raise failures[0]
