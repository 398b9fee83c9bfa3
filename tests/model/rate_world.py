"""A server with a rate limit, in virtual time, and many who want something from it through a gate."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import trio

from bakeoff.model.rate.controller import UNDECLARED, Limits
from bakeoff.model.rate.gate import Gate, Memory
from simulation.world import run_seeded

LATENCY = 0.2
RETRY_AFTER = 2.0


@dataclass
class Server:
    """A token bucket of `rate` (a function of time) and `burst`, and at most `places` requests at once.

    `answers` holds time and status of every answer.
    """

    rate: Callable[[float], float] = lambda now: 10.0
    burst: float = 10.0
    places: int | None = None
    busy: int = 503
    answers: list[tuple[float, int]] = field(default_factory=list)
    in_flight: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        self._left = self.burst
        self._at = 0.0

    async def ask(self) -> int:
        now = trio.current_time()
        while self._at < now:
            step = min(now - self._at, 0.05)
            self._left = min(self.burst, self._left + step * self.rate(self._at))
            self._at += step
        if self.places is not None and self.in_flight >= self.places:
            status = self.busy
        elif self._left >= 1 - 1e-9:
            self._left -= 1
            status = 200
        else:
            status = 429
        self.in_flight += status == 200
        self.most = max(self.most, self.in_flight)
        await trio.sleep(LATENCY)
        self.in_flight -= status == 200
        self.answers.append((trio.current_time(), status))
        return status

    @property
    def rejected(self) -> float:
        """Share of all answers that were no success."""
        return sum(status != 200 for _, status in self.answers) / len(self.answers)

    def best(self, requests: int) -> float:
        """Seconds in which the server could have answered so many, had nobody ever asked too early."""
        left, time = requests - self.burst, 0.0
        while left > 0:
            left -= 0.05 * self.rate(time)
            time += 0.05
        return time + LATENCY


async def use(server: Server, gate: Gate, requests: int, at_once: int, latecomers: float = 0.0) -> float:
    """Have `requests` answered by so many tasks; returns when the last one was."""
    left = requests

    async def worker() -> None:
        nonlocal left
        while left:
            left -= 1
            while True:
                async with gate.admit() as ticket:
                    status = await server.ask()
                    if status == 200:
                        ticket.succeeded()
                        break
                    wait = ticket.rejected("rate_limit" if status == 429 else "overload", RETRY_AFTER)
                await trio.sleep(wait)

    async with trio.open_nursery() as nursery:
        for _ in range(at_once):
            nursery.start_soon(worker)
    return trio.current_time()


def measured(
    server: Server,
    *,
    requests: int = 320,
    at_once: int = 64,
    limits: Limits = UNDECLARED,
    seed: int = 0,
    gates: int = 1,
) -> tuple[float, list[float]]:
    """How long all took against the server's own limit, and when each gate's share was done."""
    store = Memory()
    ends = [0.0] * gates
    start = 0.0

    async def main() -> None:
        nonlocal start
        start = trio.current_time()
        server._at = start
        rate = server.rate
        server.rate = lambda now: rate(now - start)

        async def one(number: int) -> None:
            gate = Gate(store, limits, clock=trio.current_time, chance=random.Random(seed * 100 + number))
            ends[number] = await use(server, gate, requests // gates, at_once // gates) - start

        async with trio.open_nursery() as nursery:
            for number in range(gates):
                nursery.start_soon(one, number)
        server.rate = rate

    run_seeded(seed, main)
    return max(ends) / server.best(requests), ends
