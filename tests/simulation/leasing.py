"""Lanes: leases all or nothing, first come first served, patience that ends, requests cancelled at any moment."""

from __future__ import annotations

import trio

from bakeoff.engine.lanes import PATIENCE, Lanes
from simulation.world import Chance, Trace, spend, watched

NAMES = ("leaves", "agents", "bench")


async def simulate(chance: Chance, trace: Trace) -> None:
    names = NAMES[: chance.randint(1, 3)]
    sizes = {name: chance.choice((1, 1, 2, 3)) for name in names}
    lanes = Lanes(sizes)
    held = dict.fromkeys(names, 0)
    waiting: dict[int, tuple[str, ...]] = {}
    grants: dict[int, tuple[float, tuple[str, ...]]] = {}

    async def request(number: int, arrival: int, wanted: tuple[str, ...], hold: int, stop: int | None) -> None:
        await spend(arrival)
        with trio.CancelScope() as scope:
            if stop is not None:
                scope.deadline = trio.current_time() + stop
            place = waiting_number()
            waiting[place] = wanted
            try:
                lease = await lanes.acquire(wanted)
            finally:
                del waiting[place]
            trace.note("granted", number)
            grants[place] = trio.current_time(), wanted
            for name in lease:
                held[name] += 1
                assert held[name] <= sizes[name], f"{held[name]} leases in {name}"
            try:
                await spend(hold)
            finally:
                for name in lease:
                    held[name] -= 1
                lanes.release(lease)
                trace.note("released", number)

    arrivals = 0

    def waiting_number() -> int:
        nonlocal arrivals
        arrivals += 1
        return arrivals

    def check() -> None:
        assert lanes.in_use == held
        if waiting:
            first = waiting[min(waiting)]
            assert any(held[name] == sizes[name] for name in first), "the first in line waits for nothing"

    crowd = chance.choice((6, 12, 40))
    async with watched(check), trio.open_nursery() as nursery:
        for number in range(crowd):
            wanted = tuple(chance.sample(names, chance.randint(1, len(names))))
            stop = chance.randint(0, 6) if chance.likely(0.25) else None
            arrival, hold = chance.randint(-1, crowd // 3), chance.ticks()
            nursery.start_soon(request, number, arrival, wanted, hold, stop)
    assert lanes.in_use == dict.fromkeys(names, 0)
    assert not waiting
    for place, (at, wanted) in grants.items():
        # Those served at the same moment may wake in any order.
        before = [later for later, (when, _) in grants.items() if later > place and when < at]
        assert all(set(grants[later][1]) != set(wanted) for later in before), "an equal request was overtaken"
        rivals = [later for later in before if not set(grants[later][1]).isdisjoint(wanted)]
        if all(sizes[name] == 1 for name in wanted):
            assert len(rivals) <= PATIENCE, f"passed {len(rivals)} times"
