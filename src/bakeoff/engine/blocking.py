"""Calling plain functions from the event loop, in a thread."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar, cast

import anyio
import anyio.to_thread

from bakeoff.engine.clock import SystemClock
from bakeoff.engine.events import Events, Warned
from bakeoff.engine.failures import is_cancel

Result = TypeVar("Result")


def is_async(function: object) -> bool:
    """Whether calling `function` gives something to await; also for an object that is async to call."""
    call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


async def call_in_thread(
    function: Callable[..., Result],
    *args: object,
    limiter: anyio.CapacityLimiter,
    left: Callable[[], None],
) -> Result:
    """The result of `function(*args)`, computed in a thread, which nothing can stop.

    Cancelled, this returns at once.

    Args:
        function: a plain function.
        args: its arguments.
        limiter: bounds the threads.
        left: called when this is cancelled and the function goes on.
    """
    state: list[str] = []

    def caught() -> tuple[BaseException | None, Result | None]:
        """Exception that was raised, or the result; futures cannot carry what would end a coroutine (GeneratorExit)."""
        state.append("begun")
        try:
            return None, function(*args)
        except Exception:
            raise
        except BaseException as failure:
            return failure, None
        finally:
            state.append("over")

    try:
        raised, result = await anyio.to_thread.run_sync(caught, abandon_on_cancel=True, limiter=limiter)
    except anyio.get_cancelled_exc_class() as failure:
        if is_cancel(failure) and state == ["begun"]:
            left()
        raise
    if raised is not None:
        raise raised
    return cast(Result, result)


def warn_not_stopped(events: Events, function: object) -> None:
    """Say in an event that `function` goes on in its thread, though it was cancelled."""
    name = getattr(function, "__qualname__", repr(function))
    events.emit(Warned(SystemClock().wall(), f"not stopped: {name} goes on in its thread"))
