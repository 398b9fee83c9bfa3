"""One thing anyio does not offer: calling into the event loop from a thread without waiting for the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.lowlevel


def loop_caller() -> Callable[[Callable[[], object]], None]:
    """A function that runs its argument in the current event loop soon; callable from any thread.

    Once the loop is gone the returned function raises RuntimeError.
    """
    native: Any = anyio.lowlevel.current_token().native_token
    call: Callable[[Callable[[], object]], None]
    call = native.call_soon_threadsafe if hasattr(native, "call_soon_threadsafe") else native.run_sync_soon
    return call
