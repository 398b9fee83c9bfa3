"""Checks of an attempt as leaves of a run: what each may use, how it is tried again, when it is known already."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bakeoff.engine.budget import Budget
from bakeoff.engine.journal import CommitQueue
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.run import Run
from bakeoff.judge.panel import Panel, examine
from bakeoff.judge.requirement import Cost
from bakeoff.judge.subject import CURRENT, Subject
from bakeoff.judge.verdict import ValidationResult, from_json, to_json
from bakeoff.model.protocol import ModelError
from bakeoff.sampling.errors import STOPPING, machinery, refused, unbilled
from bakeoff.sampling.options import Options, check_amounts
from bakeoff.sampling.result import Attempt, AttemptError
from bakeoff.sampling.tries import Tries
from bakeoff.sampling.usage import settled


class Checks:
    """The judging of all attempts of one sampling.

    Args:
        run: where checks are leaves.
        prefix: of their paths.
        durable: whether verdicts are found again.
        requirements: in the given order.
        options: see `Options`.
        ceilings: kinds that the budget limits.
        stop: called when a judge can judge nothing.
    """

    def __init__(
        self,
        run: Run,
        prefix: str,
        durable: bool,
        requirements: Sequence[Any],
        options: Options,
        ceilings: frozenset[str],
        stop: Callable[[AttemptError], None],
    ) -> None:
        self.run, self.prefix, self.durable = run, prefix, durable
        self.options, self.ceilings, self.stop = options, ceilings, stop
        self.panel = Panel(requirements, options.order, options.dedup, self._check)
        self.judging: dict[int, tuple[Attempt, CommitQueue | None]] = {}
        # Where nothing is kept, told or limited, a check by a function in this process need be no leaf.
        self.bare = not durable and not run.events.heard and not ceilings
        self.identities = [_identity(requirement) for requirement in requirements] if durable else []
        self.known = self._known() if durable else {}

    async def judge(
        self, attempt: Attempt, subject: Subject, commit_queue: CommitQueue | None
    ) -> list[ValidationResult]:
        """The verdicts on an attempt. Passes on BudgetSpentError: a check may not be made."""
        self.judging[attempt.id] = attempt, commit_queue
        try:
            return await self.panel.judge(subject)
        finally:
            del self.judging[attempt.id]

    async def _check(self, rank: int, requirement: Any, subject: Subject) -> ValidationResult:
        place = CURRENT.get()
        assert place is not None
        attempt, commit_queue = self.judging[place.id]
        timeouts = [limit for limit in (getattr(requirement, "timeout", None), self.options.check_timeout) if limit]
        if self.bare and not timeouts and requirement.cost == Cost.CHEAP:
            return await examine(requirement, subject)
        path, key = f"{self.prefix}attempt:{place.id}/check:{rank}", ""
        if self.durable:
            key = self._key(rank, subject)
            path = f"{path}:{key[:12]}"
            if (known := self.known.get(key)) is not None:
                _count(attempt, requirement, known)
                return known
        amounts = check_amounts(requirement, subject, self.ceilings) if self.ceilings else {}
        one = _Check(requirement, subject, attempt, self.durable, self.run.budget, amounts)
        record = await self.run.leaf(
            path,
            "check",
            one.work,
            key=key,
            lanes=[lane for lane in getattr(requirement, "lanes", ()) if lane in self.run.lanes.sizes],
            retry=self.options.retry,
            timeout=min(timeouts, default=None),
            continue_on_error=True,
            reserve=amounts,
            commit_queue=commit_queue,
        )
        if not one.tries and record.status is Status.COMPLETED:
            _count(attempt, requirement, from_json(record.output["verdict"]))
        if record.kind in STOPPING and record.output.get("aborted"):
            said = f"the judge of {requirement.description!r}: {record.error}"
            self.stop(AttemptError(record.kind, said, one.raised[-1] if one.raised else None))
        return one.verdict(record)

    def _key(self, rank: int, subject: Subject) -> str:
        whole = self.identities[rank].copy()
        whole.update(subject.text.encode("utf-8", "surrogatepass"))
        if self.panel.whole:
            whole.update(repr([(turn.role, turn.content) for turn in subject.conversation]).encode())
        return str(whole.hexdigest())

    def _known(self) -> dict[str, ValidationResult]:
        """Verdicts of earlier sessions by what was judged: the same output is not judged again at another attempt."""
        return {
            record.key: from_json(record.output["verdict"])
            for path, record in self.run.history.records.items()
            if record.type == "check" and record.status is Status.COMPLETED and path.startswith(self.prefix)
        }


class _Check:
    """One requirement that judges one output, as a leaf's work."""

    def __init__(
        self,
        requirement: Any,
        subject: Subject,
        attempt: Attempt,
        durable: bool,
        budget: Budget,
        amounts: Mapping[str, float],
    ) -> None:
        self.requirement, self.subject, self.attempt, self.durable = requirement, subject, attempt, durable
        self.budget, self.amounts = budget, amounts
        self.asks = requirement.cost == Cost.MODEL
        self.tries = 0
        self.found: list[ValidationResult] = []
        self.raised: list[BaseException] = []

    async def work(self, _: int) -> Outcome:
        """Judge; a judge that could not be asked is a failure of the leaf, which may be tried again."""
        with Tries(self.budget, self.amounts, self.attempt.usage) as tries:
            try:
                outcome = await self._judged()
            finally:
                tries.count()
        return replace(outcome, usage=tries.whole(outcome.usage))

    async def _judged(self) -> Outcome:
        self.tries += 1
        self.raised.clear()
        used = self.attempt.usage
        used.calls += self.asks
        known = not self.asks
        try:
            verdict = await examine(self.requirement, self.subject, self.raised)
            failure = self.raised[-1] if self.raised else None
            if isinstance(failure, ModelError):
                known = known or unbilled(failure)
                if failure.usage is not None:
                    used.add(failure.usage)
                    known = True
                return refused(failure)
            if (broken := machinery(failure)) is not None:
                return Outcome(Status.FAILED, {"aborted": True}, str(failure), broken)
            if self.asks:
                used.add(verdict.usage)
                known = True
            self.found.append(verdict)
            output = {"verdict": to_json(verdict)} if self.durable else {}
            return Outcome(output=output, usage=settled(verdict.usage) if self.asks else None)
        finally:
            used.unknown += not known

    def verdict(self, record: Record) -> ValidationResult:
        """The verdict that a finished leaf stands for."""
        if record.status is not Status.COMPLETED:
            return ValidationResult(False, record.error or "", error=record.kind or "error")
        return self.found[-1] if self.found else from_json(record.output["verdict"])


def _identity(requirement: Any) -> Any:
    """The beginning of a digest of a requirement and what it judges."""
    said = getattr(requirement, "identity", None) or f"{type(requirement).__qualname__}\0{requirement.description}"
    return hashlib.blake2b(f"{len(said)}\0{said}\0".encode("utf-8", "surrogatepass"), digest_size=12)


def _count(attempt: Attempt, requirement: Any, verdict: ValidationResult) -> None:
    """Count what a verdict of an earlier session had cost."""
    if requirement.cost == Cost.MODEL:
        attempt.usage.calls += 1
        attempt.usage.add(verdict.usage)
