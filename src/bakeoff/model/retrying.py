"""Retries of a generation, as each failure deserves."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Protocol

import anyio

from bakeoff.engine.retry import Retry
from bakeoff.model.protocol import TRANSIENT, ModelError, Reply

RETRY = Retry(attempts=8, delay=0.5, max_delay=30.0, jitter=0.5, on=tuple(sorted(TRANSIENT)))
"""Retry policy unless the caller says otherwise; `engine.retry.ONCE` switches it off."""
REFUSED_TRIES = 2
"""Tries of a connection that is refused: nobody listens there, and a person has to start something."""
LONGEST_WAIT = 300.0
"""Seconds of `Retry-After` beyond which a request fails instead of waiting."""
JITTER = 0.1
"""Share of a `Retry-After` that is added at random, so that those rejected together do not return together."""


class Account(Protocol):
    """Account of whoever awaits a reply and pays for it."""

    def failed(self, failure: ModelError) -> None:
        """Hear of a try that failed: the time may be over before the last."""

    def again(self, failure: ModelError) -> bool:
        """Whether another try may be made after one that failed so."""


TRIES: ContextVar[Account | None] = ContextVar("TRIES", default=None)
"""Account that is asked before each further try; with nobody there, all are made."""


async def retried(ask: Callable[[], Awaitable[Reply]], retry: Retry, chance: random.Random) -> Reply:
    """The reply of `ask`, called again after failures that may pass and that `retry` names.

    A time that the endpoint asked to wait takes the place of the policy's own delay.

    Raises:
        ModelError: the last failure.
    """
    delays = retry.delays(chance)
    refused = 0
    while True:
        try:
            return await ask()
        except ModelError as failure:
            account = TRIES.get()
            if account is not None:
                account.failed(failure)
            refused += failure.refused
            if refused == REFUSED_TRIES:
                failure.transient = False
            delay = next(delays, None)
            if delay is None or not failure.transient or (retry.on and failure.kind not in retry.on):
                raise
            if failure.retry_after is not None:
                if failure.retry_after > LONGEST_WAIT:
                    raise
                delay = failure.retry_after * (1 + JITTER * chance.random())
            if account is not None and not account.again(failure):
                raise
        await anyio.sleep(delay)
