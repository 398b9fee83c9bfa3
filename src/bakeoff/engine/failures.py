"""Failures of concurrent work: whose a cancellation is, and raising what failed as it was raised."""

from __future__ import annotations

import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup

from bakeoff.errors import BakeoffError


def is_cancel(failure: BaseException) -> bool:
    """Whether `failure` tells the current task to end, because a scope around it or the task itself was cancelled.

    On asyncio anything may raise CancelledError: whoever awaits a task that somebody else cancelled gets one,
    too. On trio it always comes from a scope.
    """
    if not isinstance(failure, anyio.get_cancelled_exc_class()):
        return False
    if anyio.current_effective_deadline() == -math.inf:
        return True
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(failure, asyncio.CancelledError):
        return True
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def is_stray(failure: BaseException) -> bool:
    """Whether `failure` is a cancellation that nobody meant for the current task."""
    return isinstance(failure, anyio.get_cancelled_exc_class()) and not is_cancel(failure)


def named(failure: BaseException) -> BaseException:
    """The failure as it may be raised to a caller, to whom a stray cancellation would look like its own."""
    if not is_stray(failure):
        return failure
    told = BakeoffError("something that the work waited for was cancelled, though the work itself was not")
    told.__cause__ = failure
    return told


class WorkGroup:
    """Tasks that end together when one fails."""

    def __init__(self, tasks: TaskGroup) -> None:
        self.tasks = tasks
        self.failures: list[BaseException] = []

    def start(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Run `function(*args)` in a task of the group."""
        self.tasks.start_soon(self._run, function, *args)

    def fail(self, failure: BaseException) -> None:
        """Remember a failure, and cancel all tasks; a cancellation from around the group is raised on."""
        if is_cancel(failure):
            raise failure
        self.failures.append(named(failure))
        self.tasks.cancel_scope.cancel()

    async def _run(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        # Nothing may leave a task: an event loop takes SystemExit for its own, and tells of others in tracebacks.
        try:
            await function(*args)
        except BaseException as failure:
            self.fail(failure)

    def cause(self) -> BaseException | None:
        """Exception to raise: the failure itself, or a group where there were several."""
        for failure in self.failures:
            if isinstance(failure, (KeyboardInterrupt, SystemExit)):
                return failure
        if len(self.failures) > 1:
            return BaseExceptionGroup("several failed", self.failures)
        return self.failures[0] if self.failures else None


@asynccontextmanager
async def work_group() -> AsyncIterator[WorkGroup]:
    """Like a task group, but a failure of a task or the body is raised as it is, and not as a group of one."""
    tasks = anyio.create_task_group()
    group = WorkGroup(tasks)
    try:
        async with tasks:
            try:
                yield group
            except BaseException as failure:
                group.fail(failure)
    finally:  # also where the group was cancelled from around it meanwhile
        cause = group.cause()
        if cause is not None:
            raise cause
