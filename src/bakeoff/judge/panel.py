"""All requirements of one output: in which order they are judged, and when the rest is not worth judging."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

import anyio

from bakeoff.api.codec import strict_json
from bakeoff.engine.failures import is_stray, work_group
from bakeoff.errors import BudgetSpentError
from bakeoff.judge.requirement import Cost
from bakeoff.judge.subject import Subject
from bakeoff.judge.verdict import SKIP, ValidationResult

Order = Literal["cheap_first", "in_order", "together"]
ORDERS = ("cheap_first", "in_order", "together")

Check = Callable[[int, Any, Subject], Awaitable[ValidationResult]]
"""Judges a subject by the requirement of that number."""


async def examine(requirement: Any, subject: Subject, raised: list[BaseException] | None = None) -> ValidationResult:
    """The verdict of one requirement; what it raises is an error of that requirement, and is put into `raised`.

    Raises:
        BudgetSpentError: it may not be asked.
    """
    try:
        found = await requirement.check(subject)
    except BudgetSpentError:
        raise
    except BaseException as failure:
        if not isinstance(failure, Exception) and not is_stray(failure):
            raise
        if raised is not None:
            raised.append(failure)
        return ValidationResult(False, error=f"{type(failure).__name__}: {failure}")
    if not isinstance(found, ValidationResult):
        return ValidationResult(False, error=f"check returned {type(found).__name__} and no ValidationResult")
    return found


async def _plain(_: int, requirement: Any, subject: Subject) -> ValidationResult:
    return await examine(requirement, subject)


class Panel:
    """Requirements that judge outputs together; verdicts come in the order in which they were given.

    Args:
        requirements: in the given order.
        order: `cheap_first`: by cost; one that costs more than a function is judged only when all before it are
            met. `in_order`: as given, all of them. `together`: all at once.
        dedup: an output that was judged already gets the same verdicts, unless one of them was an error.
        check: how one requirement judges; the sampler makes a leaf of it.
    """

    def __init__(
        self, requirements: Sequence[Any], order: Order = "cheap_first", dedup: bool = True, check: Check = _plain
    ) -> None:
        self.requirements = list(requirements)
        self.order = order
        self.check = check
        self.known: dict[str, list[ValidationResult]] | None = {} if dedup and self.requirements else None
        self.busy: dict[str, anyio.Event] = {}
        ranks = range(len(self.requirements))
        self.ranking = (
            sorted(ranks, key=lambda rank: int(self.requirements[rank].cost)) if order == "cheap_first" else list(ranks)
        )
        self.whole = any(getattr(requirement, "takes_subject", False) for requirement in self.requirements)

    async def judge(self, subject: Subject) -> list[ValidationResult]:
        """The verdicts on an output.

        Passes on BudgetSpentError: a check may not be made.
        """
        if self.known is None or (key := self._key(subject)) is None:
            return await self._judge(subject)
        while (busy := self.busy.get(key)) is not None:
            await busy.wait()  # its twin may be cancelled; then this one is judged
        if (verdicts := self.known.get(key)) is not None:
            return verdicts
        self.busy[key] = anyio.Event()
        try:
            verdicts = await self._judge(subject)
        finally:
            self.busy.pop(key).set()
        if not any(verdict.error not in (None, "skipped") for verdict in verdicts):
            self.known[key] = verdicts
        return verdicts

    def _key(self, subject: Subject) -> str | None:
        if isinstance(subject.output, str) and not self.whole:
            return f"t{subject.output}"
        talk = [[message.role, message.content] for message in subject.conversation] if self.whole else []
        try:
            return f"j{strict_json([subject.output, talk, dict(subject.facts) if self.whole else {}])}"
        except TypeError:
            return None

    async def _judge(self, subject: Subject) -> list[ValidationResult]:
        verdicts = [SKIP] * len(self.requirements)

        async def one(rank: int) -> bool:
            verdicts[rank] = await self.check(rank, self.requirements[rank], subject)
            return verdicts[rank].result

        if self.order == "together":
            async with work_group() as group:
                for rank in self.ranking:
                    group.start(one, rank)
            return verdicts
        met = True
        for rank in self.ranking:
            # Cheap ones are all judged: the next attempt and the choice among failures want to know of them.
            if not met and self.order == "cheap_first" and self.requirements[rank].cost > Cost.CHEAP:
                break
            met = await one(rank) and met
        return verdicts
