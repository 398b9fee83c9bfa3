"""Races: both modes, slow losers, losers that will not stop, a race that is itself cancelled."""

from __future__ import annotations

import trio

from bakeoff.engine.race import race
from simulation.world import Chance, Trace, linger, spend, watched


async def simulate(chance: Chance, trace: Trace) -> None:
    count, bound = chance.randint(0, 10), chance.randint(1, 5)
    mode = chance.choice(("deterministic", "fastest"))
    accepted = {entrant for entrant in range(count) if chance.likely(0.3)}
    times = [[chance.ticks() for _ in range(chance.randint(0, 3))] for _ in range(count)]
    cleanup = [chance.ticks() for _ in range(count)]
    stubborn = {entrant for entrant in range(count) if chance.likely(0.15)}
    fixed = chance.likely(0.3)
    stop = chance.choice((None, None, None, chance.randint(0, 6)))
    running: set[int] = set()
    started: list[int] = []
    finished: set[int] = set()
    wins: list[int] = []

    async def run(entrant: int) -> int:
        trace.note("start", entrant)
        if fixed:
            lower = mode == "deterministic" and all(entrant < winner for winner in wins)
            assert not wins or lower, f"{entrant} started although {min(wins)} had been accepted"
            before = entrant - min(bound, count)
            assert before < 0 or before in finished, "it started before the one that it builds on had ended"
        else:
            assert not wins, f"{entrant} started although {wins[0]} had been accepted"
            assert entrant == len(started)
        started.append(entrant)
        running.add(entrant)
        assert len(running) <= bound
        try:
            for ticks in times[entrant]:
                await (linger(ticks) if entrant in stubborn else spend(ticks))
        except trio.Cancelled:
            await linger(cleanup[entrant])
            raise
        finally:
            running.discard(entrant)
            trace.note("end", entrant)
        finished.add(entrant)
        return entrant

    def accept(entrant: int) -> bool:
        if entrant in accepted:
            wins.append(entrant)
        return entrant in accepted

    def check() -> None:
        if not wins and not scope.cancel_called and not returned:
            places = min(bound, count)
            if fixed:
                open_places = {entrant % places for entrant in range(count) if entrant not in finished}
                assert {entrant % places for entrant in running} == open_places
                return
            assert len(running) == min(bound, count - len(finished))

    returned = False
    scope = trio.CancelScope()
    async with watched(check):
        ended = None
        with scope:
            if stop is not None:
                scope.deadline = trio.current_time() + stop
            ended = await race(count, run, accept, bound=bound, mode=mode, fixed_places=fixed)
        returned = True
        assert not running, f"{running} still run at return"
        if ended is None:
            return
        trace.note("winner", ended.winner)
        assert set(ended.results) == finished
        if mode == "fastest":
            assert ended.winner == (wins[0] if wins else None)
        elif not wins:
            assert ended.winner is None
            assert finished == set(range(count))
        else:
            assert ended.winner == min(accepted)
            assert set(range(ended.winner + 1)) <= finished, "a lower entrant was not waited for"
