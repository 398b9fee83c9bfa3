"""Budgets: reservations under nested ceilings, settled, forgotten, refused, cancelled."""

from __future__ import annotations

import trio

from bakeoff.engine.budget import Budget
from bakeoff.errors import BudgetSpentError
from simulation.world import Chance, Trace, spend, watched

KINDS = ("usd", "tokens", "calls")


async def simulate(chance: Chance, trace: Trace) -> None:
    kinds = chance.sample(KINDS, chance.randint(1, 3))
    top = Budget({kind: chance.randint(0, 20) for kind in kinds})
    below = Budget({kind: chance.randint(0, 12) for kind in kinds if chance.likely(0.7)}, parent=top)
    reserved = {id(top): dict.fromkeys(KINDS, 0.0), id(below): dict.fromkeys(KINDS, 0.0)}
    used = {id(top): dict.fromkeys(KINDS, 0.0), id(below): dict.fromkeys(KINDS, 0.0)}
    waiting: dict[int, tuple[Budget, dict[str, float]]] = {}

    def chain(budget: Budget) -> list[Budget]:
        return [below, top] if budget is below else [top]

    def fits(budget: Budget, amounts: dict[str, float], with_open: bool) -> bool:
        for one in chain(budget):
            for kind, amount in amounts.items():
                taken = used[id(one)][kind] + (reserved[id(one)][kind] if with_open else 0)
                if amount + taken > one.ceilings.get(kind, float("inf")):
                    return False
        return True

    async def call(number: int, arrival: int, budget: Budget, amounts: dict[str, float], hold: int) -> None:
        await spend(arrival)
        settled = {kind: chance.randint(0, int(amount)) for kind, amount in amounts.items() if chance.likely(0.7)}
        stop = chance.randint(0, 4) if chance.likely(0.2) else None
        with trio.CancelScope() as scope:
            if stop is not None:
                scope.deadline = trio.current_time() + stop
            waiting[number] = budget, amounts
            try:
                await budget.room(amounts)
            except BudgetSpentError:
                trace.note("refused", number)
                assert not fits(budget, amounts, with_open=False), "refused although it could come to fit"
                return
            finally:
                del waiting[number]
            trace.note("reserved", number)
            holding = budget.take(amounts)
            assert holding is not None, "no room after all"
            with holding as reservation:
                for one in chain(budget):
                    for kind, amount in amounts.items():
                        reserved[id(one)][kind] += amount
                        total = reserved[id(one)][kind] + used[id(one)][kind]
                        assert total <= one.ceilings.get(kind, float("inf")), f"{kind}: {total}"
                final = dict(amounts)
                try:
                    await spend(hold)
                    reservation.settle(settled)
                    final |= settled
                finally:
                    for one in chain(budget):
                        for kind, amount in amounts.items():
                            reserved[id(one)][kind] -= amount
                            used[id(one)][kind] += final[kind]

    def check() -> None:
        for budget, amounts in waiting.values():
            # Below, it may hear late that the budget on top is gone: with the next change where it waits.
            assert budget is below or fits(budget, amounts, with_open=False), "waits for what can never come"
            assert not fits(budget, amounts, with_open=True), "waits although it fits"

    async with watched(check), trio.open_nursery() as nursery:
        for number in range(chance.randint(1, 12)):
            amounts = {kind: float(chance.randint(0, 7)) for kind in kinds if chance.likely(0.8)}
            budget = chance.choice((top, below))
            nursery.start_soon(call, number, chance.randint(-1, 5), budget, amounts, chance.ticks())
    for budget in (top, below):
        assert budget.spent == used[id(budget)]
        for kind, ceiling in budget.ceilings.items():
            assert budget.left(kind) == ceiling - used[id(budget)][kind]
