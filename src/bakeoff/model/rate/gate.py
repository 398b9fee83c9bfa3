"""Rate gate that every request to an endpoint passes: it waits for its turn, and tells how it was answered."""

from __future__ import annotations

import itertools
import math
import os
import random
import time
from collections.abc import Callable, Mapping
from typing import Protocol

import anyio

from bakeoff.model.protocol import Kind, Usage
from bakeoff.model.rate import controller
from bakeoff.model.rate.controller import UNDECLARED, Limits, Owner, State
from bakeoff.model.rate.owners import drop_dead, started_at
from bakeoff.model.rate.shared import SharedState
from bakeoff.model.retrying import JITTER

SLACK = 0.0001
"""Seconds slept beyond the time that was meant: to wake just before it again and again would never end."""
POLL = 0.01
"""Seconds between two looks for room: nobody tells when another process's request ends."""
CHECK = 0.5
"""Seconds between two looks for owners that died with requests in flight."""

_numbers = itertools.count()


class Store(Protocol):
    """Holds the state; a context manager that gives it to be read and changed, alone, for a moment."""

    def __enter__(self) -> State: ...

    def __exit__(self, *details: object) -> None: ...

    def close(self) -> None:
        """Give back what it holds of the system."""
        ...


class Memory:
    """State that one process, or a simulation, keeps for itself."""

    def __init__(self) -> None:
        self.state = State()

    def __enter__(self) -> State:
        return self.state

    def __exit__(self, *details: object) -> None:
        return None

    def close(self) -> None:
        """Nothing is held."""


class Ticket:
    """One admitted request. What is not told of it teaches the gate nothing.

    Attributes:
        sent: when it was admitted, by the gate's clock.
    """

    __slots__ = ("_accepted", "_crowd", "_gate", "_tokens", "sent")

    def __init__(self, gate: Gate, sent: float, tokens: float, crowd: int) -> None:
        self._gate = gate
        self._accepted = False
        self._tokens = tokens
        self._crowd = crowd
        self.sent = sent

    def accepted(self) -> None:
        """The endpoint has begun to answer: say so as soon as it is known, so that the gate opens sooner."""
        if not self._accepted:
            self._accepted = True
            with self._gate.store as state:
                controller.accepted(state)
            self._gate.wake()

    def succeeded(self, usage: Usage | None = None) -> None:
        """The reply is whole; tokens whose number is unknown count as estimated."""
        self.accepted()
        used = None if usage is None else usage.tokens
        if used is not None and self._gate.limits.tokens_per_minute is not None:
            with self._gate.store as state:
                controller.used_tokens(state, self._gate.limits, self._tokens, used)

    def rejected(self, kind: Kind, retry_after: float | None = None) -> float | None:
        """The endpoint turned it away: `rate_limit` and `overload` teach the gate.

        Returns seconds that this request, and no other, should wait before it comes again; None where the endpoint
        named no time.
        """
        gate = self._gate
        if kind in ("rate_limit", "overload"):
            with gate.store as state:
                now = gate.clock()
                if kind == "rate_limit":
                    controller.too_often(state, gate.limits, self.sent, now)
                else:
                    controller.too_many(state, self.sent, self._crowd, now)
                controller.used_tokens(state, gate.limits, self._tokens, 0.0)
        return None if retry_after is None else retry_after * (1 + JITTER * gate.random.random())


class Gate:
    """One user of an endpoint's gate; used in one event loop. Others with the same store share what is allowed.

    Requests are admitted first come first served; owners take turns.
    """

    def __init__(
        self,
        store: Store | None = None,
        limits: Limits = UNDECLARED,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: random.Random | None = None,
    ) -> None:
        self.store: Store = Memory() if store is None else store
        self.limits = limits
        self.clock = clock
        self.random = random.Random() if chance is None else chance  # noqa: S311
        self.owner: Owner = (os.getpid(), started_at(os.getpid()) or 0.0, next(_numbers))
        self._turn = anyio.Lock(fast_acquire=True)
        self._freed = anyio.Event()
        self._checked = -math.inf

    def admit(self, tokens: float = 0.0) -> Admission:
        """A context manager that waits until a request may be sent, and counts it as in flight until it is left.

        Cancelled while it waits, it holds nothing.

        Args:
            tokens: what the request may use, input and output; only a declared limit of tokens asks for it.
        """
        return Admission(self, tokens)

    def close(self) -> None:
        """Give back what the store holds of the system."""
        self.store.close()

    def wake(self) -> None:
        """There may be room for whoever waits here."""
        self._freed.set()

    async def enter(self, tokens: float) -> Ticket:
        """Wait for admission; see `admit`."""
        async with self._turn:
            try:
                return await self._next(tokens)
            except BaseException:
                with self.store as state:
                    controller.gave_up(state, self.owner)
                raise

    def leave(self) -> None:
        """A request is in flight no longer."""
        with self.store as state:
            controller.ended(state, self.owner)
        self.wake()

    async def _next(self, tokens: float) -> Ticket:
        slot, taken = 0.0, -math.inf
        while True:
            with self.store as state:
                now = self.clock()
                # A slot from before the rate was lowered came too soon.
                if taken == -math.inf or taken < state.lowered_at:
                    slot, taken = controller.take_slot(state, self.limits, now), now
                wait = controller.admit(state, self.limits, self.owner, now, slot, tokens)
                crowd = controller.in_flight(state)
                if wait == math.inf and now - self._checked > CHECK:
                    self._checked = now
                    drop_dead(state)
            if wait == 0:
                return Ticket(self, now, tokens, crowd)
            if wait < math.inf:
                await anyio.sleep(wait + SLACK)
                continue
            self._freed = anyio.Event()
            with anyio.move_on_after(POLL):
                await self._freed.wait()


class Admission:
    """Admission by `Gate.admit`: enter it to wait, leave it when the request has ended."""

    __slots__ = ("_gate", "_tokens")

    def __init__(self, gate: Gate, tokens: float) -> None:
        self._gate = gate
        self._tokens = tokens

    async def __aenter__(self) -> Ticket:
        return await self._gate.enter(self._tokens)

    async def __aexit__(self, *details: object) -> None:
        self._gate.leave()


_memories: dict[str, Memory] = {}


def gate_for(
    base_url: str,
    key: str,
    limits: Limits = UNDECLARED,
    environ: Mapping[str, str] | None = None,
) -> Gate:
    """The gate of an endpoint: shared with every process of this user on this machine that uses the same one.

    Where there is no place that processes can share (no home, a network file system), all gates of this process
    share one state.

    Args:
        base_url: names the endpoint, together with
        key: whose limits it has; only a digest of both is kept.
        limits: what is declared of it.
        environ: says where caches are; this process's by default.
    """
    shared = SharedState.of(base_url, key, os.environ if environ is None else environ)
    if shared is not None:
        return Gate(shared, limits)
    return Gate(_memories.setdefault(f"{base_url}\0{key}", Memory()), limits)
