"""Calling plain functions from the event loop: in a thread, or in a process of its own that can be stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_process
import anyio.to_thread

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.events import Events, Warned

Result = TypeVar("Result")


async def call_blocking(
    function: Callable[..., Result], *args: object, isolate: bool, limiter: anyio.CapacityLimiter, events: Events
) -> Result:
    """The result of `function(*args)`, computed beside the event loop.

    With `isolate` it runs in a worker process (function, arguments and result must be picklable), which is killed
    when this is cancelled. Without, it runs in a thread, which nothing can stop: cancelled, this returns at once and
    says `not stopped` in an event.
    """
    if isolate:
        return await anyio.to_process.run_sync(function, *args, cancellable=True, limiter=limiter)
    try:
        return await anyio.to_thread.run_sync(function, *args, abandon_on_cancel=True, limiter=limiter)
    except anyio.get_cancelled_exc_class():
        name = getattr(function, "__qualname__", repr(function))
        events.emit(Warned(SystemClock().wall(), f"not stopped: {name} goes on in its thread"))
        raise
