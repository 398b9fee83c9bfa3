"""Plain twins of async functions: they work with and without a running event loop, and Ctrl-C reaches the work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

from bakeoff.api.durable import fan_out
from bakeoff.engine.loop import loop_caller

Value = TypeVar("Value")


def run_sync(main: Callable[[], Awaitable[Value]]) -> Value:
    """The result of `main()`. Where an event loop runs already (a notebook), a thread with its own loop does it.

    Passes on KeyboardInterrupt: Ctrl-C; the work has been cancelled and has ended by then.
    """
    try:
        anyio.lowlevel.current_token()
    except RuntimeError:
        return anyio.run(main)
    return _in_thread(main)


def _in_thread(main: Callable[[], Awaitable[Value]]) -> Value:
    results: list[Value] = []
    raised: list[BaseException] = []
    work = _Cancellable()

    async def cancellable() -> None:
        with anyio.CancelScope() as scope:
            work.begins(scope)
            results.append(await main())

    def body() -> None:
        try:
            anyio.run(cancellable)
        except BaseException as failure:
            raised.append(failure)
        finally:
            work.done.set()

    thread = threading.Thread(target=body, name="bakeoff-sync")
    with work.interruptible():
        thread.start()
        work.done.wait()  # not `join`, which takes a thread for ended once Ctrl-C interrupts it (CPython 3.11)
    thread.join()
    if work.pressed:
        raise KeyboardInterrupt
    if raised:
        raise raised[0]
    return results[0]


class _Cancellable:
    """Work in another thread that Ctrl-C in this one cancels, from before it begins until it has ended."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.pressed = False
        self._cancel: Callable[[], None] | None = None

    def begins(self, scope: anyio.CancelScope) -> None:
        """Called in the thread that does it."""
        call = loop_caller()
        self._cancel = lambda: call(scope.cancel)
        if self.pressed:
            scope.cancel()

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Take Ctrl-C meanwhile: the loop's own handler would take the first one for itself while this thread blocks.

        It raises nothing, so that nothing can be left half-way.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _interrupted(self, number: int, frame: object) -> None:
        self.pressed = True
        if self._cancel is not None:
            self._cancel()


def fan_out_sync(function: Callable[[Any], Any], items: Iterable[Any], **options: Any) -> list[Any]:
    """`fan_out` for code that is not async; see there.

    Passes on KeyboardInterrupt: Ctrl-C; running items have been cancelled, and what had ended is committed.
    """
    return run_sync(lambda: fan_out(function, items, **options))
