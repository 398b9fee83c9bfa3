"""The worker processes that isolated requirements share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

import anyio

from bakeoff.api.isolated import Workers

MOST = 8
"""Worker processes at once."""

_SHARED: ContextVar[tuple[Workers, anyio.CapacityLimiter] | None] = ContextVar("bakeoff_isolating", default=None)


@asynccontextmanager
async def isolating() -> AsyncIterator[tuple[Workers, anyio.CapacityLimiter]]:
    """Share workers and their bound among all that is judged in the block; they end with the outermost block."""
    shared = _SHARED.get()
    if shared is not None:
        yield shared
        return
    shared = Workers(), anyio.CapacityLimiter(MOST)
    token = _SHARED.set(shared)
    try:
        yield shared
    finally:
        _SHARED.reset(token)
        with anyio.CancelScope(shield=True):
            await shared[0].close()
