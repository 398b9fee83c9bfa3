"""Plain twins of async functions: they work with and without a running event loop, and Ctrl-C reaches the work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

from bakeoff.engine.durable import fan_out
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
    cancels: list[Callable[[], None]] = []
    done = threading.Event()

    async def cancellable() -> None:
        call = loop_caller()
        with anyio.CancelScope() as scope:
            cancels.append(lambda: call(scope.cancel))
            results.append(await main())

    def body() -> None:
        try:
            anyio.run(cancellable)
        except BaseException as failure:
            raised.append(failure)
        finally:
            done.set()

    thread = threading.Thread(target=body, name="bakeoff-sync")
    thread.start()
    interrupt = _wait(done, cancels)
    thread.join()
    if interrupt is not None:
        raise interrupt
    if raised:
        raise raised[0]
    return results[0]


def _wait(done: threading.Event, cancels: list[Callable[[], None]]) -> KeyboardInterrupt | None:
    """Wait for the work; on Ctrl-C cancel it and go on waiting.

    Not by `Thread.join`, which takes a thread for ended once Ctrl-C interrupts it (CPython 3.11).
    """
    in_main = threading.current_thread() is threading.main_thread()
    # The loop's own handler would take the first Ctrl-C for itself while this thread blocks.
    before = signal.signal(signal.SIGINT, signal.default_int_handler) if in_main else None
    interrupt: KeyboardInterrupt | None = None
    try:
        while not done.is_set():
            try:
                done.wait()
            except KeyboardInterrupt as pressed:
                interrupt = pressed
                for cancel in cancels:
                    cancel()
    finally:
        if in_main:
            signal.signal(signal.SIGINT, before)
    return interrupt


def fan_out_sync(function: Callable[[Any], Any], items: Iterable[Any], **options: Any) -> list[Any]:
    """`fan_out` for code that is not async; see there.

    Passes on KeyboardInterrupt: Ctrl-C; running items have been cancelled, and what had ended is committed.
    """
    return run_sync(lambda: fan_out(function, items, **options))
