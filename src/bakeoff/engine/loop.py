"""One thing anyio does not offer: calling into the event loop from a thread without waiting for the call."""

from __future__ import annotations

from collections.abc import Callable

import anyio.lowlevel


def loop_caller() -> Callable[[Callable[[], object]], None]:
    """A function that runs its argument in the current event loop soon; callable from any thread.

    Once the loop is gone the returned function raises RuntimeError.
    """
    native = anyio.lowlevel.current_token().native_token
    call: Callable[[Callable[[], object]], None] = getattr(native, "call_soon_threadsafe", None) or getattr(
        native,
        "run_sync_soon",  # noqa: B009  (trio's token; anyio types it as object)
    )
    return call
