"""Calling plain functions from the event loop: in a thread, or in a process of its own that can be stopped."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar, cast

import anyio
import anyio.to_process
import anyio.to_thread

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.errors import BakeoffError
from bakeoff.engine.events import Events, Warned
from bakeoff.engine.failures import is_cancel
from bakeoff.engine.worker import CALL_MARK, end_marked, in_worker, marks

Result = TypeVar("Result")

REAPING = 0.1
"""Seconds in which a worker that could not start is seen to be gone; else a loop that closes tells of its pipes."""


async def call_blocking(
    function: Callable[..., Result],
    *args: object,
    isolate: bool,
    limiter: anyio.CapacityLimiter,
    events: Events,
    token: str | None = None,
) -> Result:
    """The result of `function(*args)`, computed beside the event loop.

    With `isolate` it runs in a worker process (function, arguments and result must be picklable), which is killed
    when this is cancelled, and so is what it started. Without, it runs in a thread, which nothing can stop:
    cancelled, this returns at once and says `not stopped` in an event.

    Args:
        function: a plain function.
        args: its arguments.
        isolate: see above.
        limiter: bounds the threads or workers.
        events: where a thread that goes on is reported.
        token: the run's, for the environment of what a worker starts.
    """
    if isolate:
        return await _isolated(function, args, limiter, marks(token))
    try:
        raised, result = await anyio.to_thread.run_sync(
            _caught, function, args, abandon_on_cancel=True, limiter=limiter
        )
    except anyio.get_cancelled_exc_class() as failure:
        if is_cancel(failure):
            name = getattr(function, "__qualname__", repr(function))
            events.emit(Warned(SystemClock().wall(), f"not stopped: {name} goes on in its thread"))
        raise
    if raised is not None:
        raise raised
    return cast(Result, result)


def _caught(function: Callable[..., Result], args: tuple[object, ...]) -> tuple[BaseException | None, Result | None]:
    """What was raised, or the result; futures cannot carry what would end a coroutine (GeneratorExit)."""
    try:
        return None, function(*args)
    except Exception:
        raise
    except BaseException as failure:
        return failure, None


async def _isolated(
    function: Callable[..., Result], args: tuple[object, ...], limiter: anyio.CapacityLimiter, environ: dict[str, str]
) -> Result:
    try:
        return await anyio.to_process.run_sync(
            in_worker, os.getpid(), environ, function, *args, cancellable=True, limiter=limiter
        )
    except anyio.BrokenWorkerProcess as failure:
        await end_marked(environ[CALL_MARK])
        with anyio.CancelScope(shield=True):
            await anyio.sleep(REAPING)
        if isinstance(failure.__cause__, BakeoffError):
            raise failure.__cause__ from None
        if "initialization" in str(failure):
            raise BakeoffError(
                "no worker process could be made: it imports the main module, and that failed: "
                f"{type(failure.__cause__).__name__}: {failure.__cause__}"
            ) from failure
        raise RuntimeError("the worker process ended before it had a result (killed, or out of memory?)") from None
    except anyio.get_cancelled_exc_class():
        await end_marked(environ[CALL_MARK])
        raise
