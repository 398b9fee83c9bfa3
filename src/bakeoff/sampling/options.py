"""Options of sampling, checked before anything is made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.api.arguments import amounts, check_retry, number
from bakeoff.engine.blocking import is_async
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.jobs.options import CHECK_TIMEOUT
from bakeoff.judge.panel import ORDERS, Order
from bakeoff.judge.requirement import Cost
from bakeoff.judge.subject import Subject
from bakeoff.model.protocol import TRANSIENT, Model
from bakeoff.options.kinds import SECONDS
from bakeoff.options.option import check_values, option, shared
from bakeoff.sampling.action import Ask, Call, Ticket
from bakeoff.sampling.events import Hook


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `sample`.

    Attributes:
        judge: the model that judges texts; the one that answers prompts if left out.
        budget: ceilings by kind (`usd`, `tokens`, `calls`), judges included.
        reserve: what one attempt may use at most, by kind, where the request does not tell.
        name, version: what a durable run finds its results by, besides action and strategy.
        prefix: path in an open run that the attempts stand under; whoever gives it sees to it that the same path means
            the same action, strategy and requirements.
        hooks: async functions of an event, awaited where it happens.
        retry: for failures that trying again may help against; each try is a call.
        attempt_timeout, check_timeout, deadline: seconds for one attempt, for one check, for everything.
        order: `cheap_first`, `in_order` or `together`, see `Panel`.
        dedup: identical outputs are judged once.
        lanes: lanes of an open run that each generation holds.
    """

    judge: Model | None = None
    budget: Mapping[str, float] | None = None
    reserve: Mapping[str, float] | None = None
    name: str | None = None
    version: str = ""
    prefix: str | None = None
    hooks: Iterable[Hook] = ()
    retry: Retry = ONCE
    attempt_timeout: float | None = option(None, SECONDS, "Seconds for one attempt.")
    check_timeout: float | None = shared(None, CHECK_TIMEOUT)
    deadline: float | None = option(None, SECONDS, "Seconds for everything.")
    order: Order = "cheap_first"
    dedup: bool = True
    lanes: Iterable[str] = ()

    def checked(self) -> Options:
        """The same, with a retry policy that never repeats what is permanent.

        Raises:
            ValueError: a value is out of its range.
            TypeError: something is of the wrong kind.
        """
        amounts("budget", self.budget)
        amounts("reserve", self.reserve)
        check_retry(self.retry)
        for name in ("attempt_timeout", "check_timeout", "deadline"):
            number(name, getattr(self, name) or 0)
        check_values(self, flags=False, error=ValueError)
        if self.order not in ORDERS:
            raise ValueError(f"order is one of {', '.join(ORDERS)}; not {self.order!r}")
        for hook in (hooks := tuple(self.hooks)):
            if not is_async(hook):
                raise TypeError(f"a hook is an async function, not {hook!r}; plain ones may consume `events`")
        if isinstance(self.lanes, (str, Mapping)):
            raise TypeError(f"lanes is a list of names, not {self.lanes!r}")
        for name in ("name", "version", "prefix"):
            if not isinstance(getattr(self, name) or "", str):
                raise TypeError(f"{name} is a text, not {getattr(self, name)!r}")
        return replace(
            self,
            retry=replace(self.retry, on=self.retry.on or tuple(sorted(TRANSIENT))),
            hooks=hooks,
            lanes=tuple(self.lanes),
        )

    def amounts(self, action: Ask | Call, ticket: Ticket, ceilings: Iterable[str]) -> dict[str, float]:
        """Reservation of one generation from a budget with these ceilings.

        Raises:
            ValueError: nobody knows how much it may use.
        """
        found: dict[str, float] = {}
        reserve = self.reserve or {}
        if "calls" in reserve:  # one that is cut off reports nothing, and is known to have been made by this alone
            found["calls"] = reserve["calls"]
        for kind in ceilings:
            amount = reserve.get(kind)
            if amount is None:
                amount = {"calls": 1.0, "tokens": action.most_tokens(ticket)}.get(kind, math.inf)
            if amount == math.inf:
                hint = "give the request max_tokens, or " if kind == "tokens" else ""
                raise ValueError(
                    f"there is a ceiling on {kind}, and nobody knows how much one attempt may use: "
                    f"{hint}say reserve={{{kind!r}: ...}}"
                )
            found[kind] = amount
        return found


def check_amounts(requirement: Any, subject: Subject, ceilings: Iterable[str]) -> dict[str, float]:
    """Reservation of one check from a budget with these ceilings.

    Raises:
        ValueError: a model judges, and nobody knows how much it may use.
    """
    reserve = getattr(requirement, "reserve", None)
    asked: Mapping[str, float] = {} if reserve is None else reserve(subject)
    found = {kind: asked[kind] for kind in ceilings if kind in asked}
    for kind in ceilings:
        if requirement.cost == Cost.MODEL and not found.get(kind, math.inf) < math.inf:
            raise ValueError(
                f"there is a ceiling on {kind}, and the requirement {requirement.description!r} does not say how much "
                "one check may use: its `reserve` must"
            )
    return found
