"""Carrying out a schedule: one task of the event loop for each that is at work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from bakeoff.engine.failures import WorkGroup, work_group
from bakeoff.engine.record import Status
from bakeoff.plan.schedule.scheduler import Scheduler

Work = Callable[[str], Awaitable[Status]]
"""Does the work of a task; returns how it ended, `PENDING` where it could not and nothing further is to be begun."""


async def carry_out(
    scheduler: Scheduler, work: Work, changed: Callable[[str, Status], None] = lambda name, status: None
) -> None:
    """Do all the work that the scheduler lets start; returns when nothing is at work and nothing can start.

    Cancelled, or when a work raises, whoever is at work is cancelled and has ended before this returns.

    Args:
        scheduler: which says who starts; its `status` says afterwards how each ended.
        work: see `Work`.
        changed: told who started and how who ended.

    Passes on what a work raises.
    """
    driver = _Driver(scheduler, work, changed)
    async with work_group() as group:
        driver.more(group)


class _Driver:
    def __init__(self, scheduler: Scheduler, work: Work, changed: Callable[[str, Status], None]) -> None:
        self.scheduler, self.work, self.changed = scheduler, work, changed
        self.scopes: dict[str, anyio.CancelScope] = {}

    def more(self, group: WorkGroup) -> None:
        for name in self.scheduler.start():
            self.scopes[name] = anyio.CancelScope()
            self.changed(name, Status.RUNNING)
            group.start(self.one, name, group)

    async def one(self, name: str, group: WorkGroup) -> None:
        status = Status.CANCELLED
        with self.scopes[name]:
            status = await self.work(name)
        del self.scopes[name]
        before = dict(self.scheduler.status) if self.scheduler.fail_fast else {}
        self.scheduler.end(name, status)
        self.changed(name, self.scheduler.status[name])
        if self.scheduler.doomed:
            for other, was in before.items():
                if was is Status.PENDING and self.scheduler.status[other] is not was:
                    self.changed(other, self.scheduler.status[other])
            for scope in self.scopes.values():
                scope.cancel()
        self.more(group)
