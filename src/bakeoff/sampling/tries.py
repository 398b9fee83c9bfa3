"""Retries inside of one call: a model tries again what failed, and what may be billed is reserved anew."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from bakeoff.engine.budget import KINDS, Budget
from bakeoff.model.protocol import ModelError
from bakeoff.model.retrying import TRIES
from bakeoff.sampling.errors import charged, unbilled
from bakeoff.sampling.usage import UsageTotal


class Tries:
    """Accounts for the tries of a model inside of a call, while inside of it as a context manager.

    A try that was turned away cost nothing. Any other that failed may be billed: the reservation of the call stands
    for the next try then, and a further one for it, which is given back at the end, when `whole` has its amounts.
    Ended by an exception, cancellation included, further reservations count as spent.

    Attributes:
        billed: failures of tries before the last that may be billed.
        short: what is missing for another, where that is spent, and not only reserved by others.
    """

    def __init__(
        self,
        budget: Budget,
        amounts: Mapping[str, float],
        total: UsageTotal,
        failures: list[ModelError] | None = None,
    ) -> None:
        """Prepare.

        Args:
            budget: pays for each.
            amounts: what each reserves, as the call did for its first.
            total: where `count` adds what they used.
            failures: gets the failures of all tries.
        """
        self.billed: list[ModelError] = []
        self.short: str | None = None
        self._failures = [] if failures is None else failures
        self._budget, self._amounts, self._total = budget, amounts, total
        self._held = ExitStack()
        self._reservations: list[Any] = []

    def __enter__(self) -> Self:
        self._token = TRIES.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        TRIES.reset(self._token)
        for reservation in self._reservations if raised is None else ():
            reservation.void()
        self._held.close()

    def failed(self, failure: ModelError) -> None:
        """Hear of a try that failed."""
        self._failures.append(failure)

    def again(self, failure: ModelError) -> bool:
        """Whether there is room for another try after this one."""
        if unbilled(failure):
            return True
        further = self._budget.take(self._amounts)
        if further is None:
            tries = len(self.billed) + 2  # with this one, and the one that is not made
            self.short = self._budget.shortage({kind: amount * tries for kind, amount in self._amounts.items()})
            failure.args = (f"{failure}; not tried again, since the budget has no room for another call",)
            return False
        self._reservations.append(self._held.enter_context(further))
        self.billed.append(failure)
        return True

    def whole(self, usage: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Charge of the call, its further tries included; what nobody reported counts as reserved."""
        if not self.billed:
            return usage
        parts = [dict(usage or {}), *(charged(failure.usage, failure) for failure in self.billed)]
        found: dict[str, Any] = {}
        assumed: dict[str, float] = {}
        for kind in dict.fromkeys((*KINDS, *parts[0])):
            told = [part[kind] for part in parts if part.get(kind) is not None]
            if kind == "assumed" or not told:
                continue
            if len(told) == len(parts) or kind not in self._amounts:
                found[kind] = sum(told)
        for kind in self._amounts.keys() - found.keys():
            assumed[kind] = sum(_most(part, kind, self._amounts[kind]) for part in parts)
        return {**found, "assumed": assumed} if assumed else found

    def count(self) -> None:
        """Add the further tries to what was used."""
        for failure in self.billed:
            self._total.calls += 1
            self._total.add(failure.usage)


def _most(part: Mapping[str, Any], kind: str, reserved: float) -> float:
    """Charge of one try: as reported, else as it is assumed, else as reserved."""
    told = part.get(kind)
    return float(told if told is not None else (part.get("assumed") or {}).get(kind, reserved))
