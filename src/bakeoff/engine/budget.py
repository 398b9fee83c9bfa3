"""Budgets: ceilings on money, tokens and calls, reserved before a call and settled after it.

A budget may stand under another; a reservation must fit in all of them. What was not reported counts as it was
reserved, so a missing bill never reads as zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import anyio

from bakeoff.errors import BudgetSpentError

KINDS = ("usd", "tokens", "calls")

_HAIR = 1e-9  # sums of cents are not exact in binary


class Reservation:
    """Reservation of what one call may use. Settle it, or it counts in full."""

    def __init__(self, amounts: Mapping[str, float]) -> None:
        self.amounts = dict(amounts)
        self.used = dict(amounts)

    def settle(self, usage: Mapping[str, Any] | None) -> None:
        """Count what `usage` reports; a kind it does not report (or reports as None) counts as reserved.

        A kind that it has under `assumed` counts as said there: nobody reported it.
        """
        for kind, amount in (usage or {}).items():
            if kind in self.used and amount is not None:
                self.used[kind] = amount
            elif kind == "assumed":
                self.used.update({name: most for name, most in amount.items() if name in self.used})

    def void(self) -> None:
        """Count nothing: the call it was for never began."""
        self.used = dict.fromkeys(self.amounts, 0.0)


class Budget:
    """Ceilings, what is spent of them, and what is reserved. Touched in the event loop's thread only.

    Args:
        ceilings: by kind (`usd`, `tokens`, `calls`); a kind that is not named has no ceiling.
        spent: what earlier sessions of the run have used.
        parent: a budget this one stands under.

    Raises:
        ValueError: a kind is unknown or a ceiling is negative.
    """

    def __init__(
        self,
        ceilings: Mapping[str, float],
        spent: Mapping[str, float] | None = None,
        parent: Budget | None = None,
    ) -> None:
        for kind, ceiling in ceilings.items():
            if kind not in KINDS or ceiling < 0:
                raise ValueError(f"a budget has ceilings of at least 0 on {', '.join(KINDS)}; not {kind}={ceiling!r}")
        self.ceilings = dict(ceilings)
        self.spent = dict.fromkeys(KINDS, 0.0) | dict(spent or {})
        self.parent = parent
        self._reserved = dict.fromkeys(KINDS, 0.0)
        self._changed = anyio.Event()

    @contextmanager
    def _held(self, reservation: Reservation) -> Iterator[Reservation]:
        for budget in self._chain():
            for kind, amount in reservation.amounts.items():
                budget._reserved[kind] += amount
        try:
            yield reservation
        finally:
            for budget in self._chain():
                for kind, amount in reservation.amounts.items():
                    budget._reserved[kind] -= amount
                    budget.spent[kind] += reservation.used[kind]
                budget._changed.set()
                budget._changed = anyio.Event()

    async def room(self, amounts: Mapping[str, float]) -> None:
        """Wait until `amounts` would fit, while others' reservations are in the way.

        Passes on BudgetSpentError: it would not fit even if every open reservation came back whole.
        """
        while amounts and (tight := self._tight(amounts)) is not None:
            self._refuse_hopeless(amounts)
            await tight._changed.wait()

    def take(self, amounts: Mapping[str, float]) -> AbstractContextManager[Reservation] | None:
        """A context manager that holds `amounts` until its end; None where they do not fit.

        Leaving the context without `settle` counts the whole reservation.
        """
        if not amounts:
            return _NOTHING
        return None if self._tight(amounts) is not None else self._held(Reservation(amounts))

    def count(self, amounts: Mapping[str, float], sign: int) -> None:
        """Count what an open reservation holds as spent already (`sign` 1), or as reserved again (-1)."""
        for budget in self._chain() if amounts else ():
            for kind, amount in amounts.items():
                budget._reserved[kind] -= sign * amount
                budget.spent[kind] += sign * amount
            budget._changed.set()
            budget._changed = anyio.Event()

    def left(self, kind: str) -> float:
        """Remaining budget of one kind, neither spent nor reserved; infinite without a ceiling."""
        if kind not in self.ceilings:
            return float("inf")
        return self.ceilings[kind] - self.spent[kind] - self._reserved[kind]

    def shortage(self, amounts: Mapping[str, float]) -> str | None:
        """Shortage, in words, where what is spent already leaves no room for `amounts`; None where it does."""
        for budget in self._chain():
            for kind in [kind for kind in KINDS if kind in amounts and kind in budget.ceilings]:
                ceiling, rest = budget.ceilings[kind], budget.ceilings[kind] - budget.spent[kind]
                if amounts[kind] > rest + _HAIR:
                    return f"{amounts[kind]:g} {kind} asked for, {max(rest, 0.0):g} of {ceiling:g} left"
        return None

    def _chain(self) -> Iterator[Budget]:
        budget: Budget | None = self
        while budget is not None:
            yield budget
            budget = budget.parent

    def _tight(self, amounts: Mapping[str, float]) -> Budget | None:
        """The first budget in the way of `amounts`."""
        for budget in self._chain():
            for kind, amount in amounts.items():
                if amount > budget.left(kind) + _HAIR:
                    return budget
        return None

    def _refuse_hopeless(self, amounts: Mapping[str, float]) -> None:
        """Say so at once when what is spent already leaves no room, whichever budget it is.

        Raises:
            BudgetSpentError: it does.
        """
        short = self.shortage(amounts)
        if short is not None:
            raise BudgetSpentError(f"the budget is spent: {short}")


_NOTHING = nullcontext(Reservation({}))
