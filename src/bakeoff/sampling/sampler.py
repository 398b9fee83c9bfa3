"""One sampling at work: makes attempts, has them judged, keeps what became of each."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from bakeoff.engine.budget import Budget
from bakeoff.engine.codec import JSON
from bakeoff.engine.errors import BakeoffError, BudgetSpentError
from bakeoff.engine.journal import Backlog
from bakeoff.engine.nesting import CURRENT as CURRENT_LEAF
from bakeoff.engine.nesting import HeldLeaf
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.run import Run
from bakeoff.judge.panel import Panel, examine
from bakeoff.judge.requirement import Cost
from bakeoff.judge.subject import CURRENT, CurrentAttempt, Subject
from bakeoff.judge.verdict import ValidationResult, from_json, to_json
from bakeoff.model.protocol import Message, ModelError
from bakeoff.sampling.action import Ask, Call, Generation, Ticket, talk
from bakeoff.sampling.events import Announcer, AttemptEnded, Repaired
from bakeoff.sampling.options import Options, check_amounts
from bakeoff.sampling.result import Attempt, AttemptError, Reason
from bakeoff.sampling.usage import UsageTotal, settled

PERMANENT = frozenset({"auth", "bad_request", "not_found", "context_length"})
"""Kinds of error that every other attempt would meet, too."""

OWN = frozenset({"bad_request", "context_length"})
"""Kinds of those that an attempt which builds on others may meet alone."""

UNBILLED = frozenset({"auth", "bad_request", "not_found", "context_length", "rate_limit", "overload"})
"""Kinds of error by which a request was refused: nothing was generated."""

UNMADE = "unmade"
"""The kind of a generation that was not begun: it had waited for its lanes, and in the meantime sampling stopped."""


class Sampler:
    """What a strategy works with. All of it is touched in the event loop's thread only.

    Args:
        run: where attempts are leaves.
        home: the run that leaves of user code belong to; `run` itself unless that is a view with another budget.
        prefix: of the leaves' paths.
        durable: whether results are found again.
        action: what an attempt does.
        requirements: what it must satisfy.
        options: see `Options`.
        announcer: who is told.
        sampling_id: names this sampling in events.
        loop_budget: rounds of a lane.
        concurrency_budget: most attempts at work at once.

    Attributes:
        attempts: every attempt that began, by id.
        stopped: why no further attempt begins; None while they do.
        fatal: the permanent error that stopped it.
        facts: what the strategy adds to the result.
    """

    def __init__(
        self,
        *,
        run: Run,
        home: Run,
        prefix: str,
        durable: bool,
        action: Ask | Call,
        requirements: Sequence[Any],
        options: Options,
        announcer: Announcer,
        sampling_id: str,
        loop_budget: int,
        concurrency_budget: int,
    ) -> None:
        self.run, self.home, self.prefix, self.durable = run, home, prefix, durable
        self.action = action
        self.requirements = requirements
        self.options = options
        self.announcer = announcer
        self.sampling_id = sampling_id
        self.loop_budget, self.concurrency_budget = loop_budget, concurrency_budget
        self.attempts: dict[int, Attempt] = {}
        self.stopped: Reason | None = None
        self.fatal: AttemptError | None = None
        self.facts: dict[str, Any] = {}
        self.ceilings = ceilings_of(run.budget)
        self.backlogs: dict[int, Backlog] = {}
        self.most_leaves = len(requirements) + 1
        self.panel = Panel(requirements, options.order, options.dedup, self._check)
        self.lanes = tuple(options.lanes)
        # Where nothing is kept, told or limited, a check by a function in this process need be no leaf.
        self.bare = not durable and not run.events.heard and not self.ceilings
        self.identities = [_identity(requirement) for requirement in requirements] if durable else []
        self.memo = self._kept_verdicts() if durable else {}

    async def attempt(self, ticket: Ticket) -> Attempt | None:
        """Make an attempt and have it judged; None when no further one may begin.

        Cancelled, its work has ended before this returns, or its record says what goes on.
        """
        if self.stopped is not None:
            return None
        attempt = Attempt(ticket.id, ticket.lane, ticket.round, not_stopped=ticket.not_stopped)
        self.attempts[ticket.id] = attempt
        token = CURRENT.set(CurrentAttempt(ticket.id, ticket.lane, ticket.round))
        since = self.run.clock.monotonic()
        limit = self.options.attempt_timeout
        until = None if limit is None else anyio.current_time() + limit
        try:
            await self._carry_out(attempt, ticket, until)
            attempt.latency = self.run.clock.monotonic() - since
            if attempt.usage.calls and self.announcer.heard:
                await self.announcer.tell(AttemptEnded(self.announcer.now(), self.sampling_id, attempt))
        finally:
            CURRENT.reset(token)
            attempt.latency = attempt.latency or self.run.clock.monotonic() - since
            if not attempt.usage.calls:  # it was cancelled, or refused, before it began
                del self.attempts[ticket.id]
        return attempt if attempt.usage.calls else None

    async def _carry_out(self, attempt: Attempt, ticket: Ticket, until: float | None) -> None:
        # One commit for all of an attempt: nobody but itself sees of it before that.
        backlog = Backlog(self.most_leaves) if self.durable else None
        if backlog is not None:
            self.backlogs[attempt.id] = backlog
        try:
            if await self._generate(attempt, ticket) and attempt.error is None:
                await self._judge(attempt, until)
        except BudgetSpentError as failure:
            self.stopped = self.stopped or Reason.CAP
            attempt.status, attempt.error = "error", AttemptError("budget", str(failure), failure)
        finally:
            self.backlogs.pop(attempt.id, None)
        if backlog is not None:
            await backlog.drained()

    async def repaired(self, kind: str, ticket: Ticket) -> None:
        """Tell that the attempt of this ticket builds on one that failed."""
        if self.announcer.heard and ticket.previous is not None:
            now = self.announcer.now()
            token = CURRENT.set(CurrentAttempt(ticket.id, ticket.lane, ticket.round))
            try:
                told = Repaired(now, self.sampling_id, kind, ticket.previous, ticket.id, ticket.feedback)
                await self.announcer.tell(told)
            finally:
                CURRENT.reset(token)

    # An attempt's generation.

    async def _generate(self, attempt: Attempt, ticket: Ticket) -> bool:
        """Whether it was begun."""
        if isinstance(self.action, Ask):
            ticket.request = attempt.request = self.action.request_of(ticket)
        amounts = self.options.amounts(self.action, ticket, self.ceilings) if self.ceilings else {}
        made: list[Generation] = []
        raised: list[BaseException] = []

        async def work(_: int) -> Outcome:
            if self.stopped is None and self._is_spent(amounts):
                self.stopped = Reason.CAP
            if self.stopped is not None:
                none = dict.fromkeys(("calls", *amounts), 0)
                return Outcome(Status.FAILED, {"aborted": True}, f"not begun: {self.stopped}", UNMADE, usage=none)
            attempt.usage.calls += 1
            known = False
            try:
                generation = await self._make(ticket, amounts)
                attempt.usage.add(generation.usage)
                known = True
                made[:] = [generation]
                return self._outcome(generation, attempt.usage)
            except ModelError as failure:
                raised.append(failure)
                known = failure.kind in UNBILLED
                if failure.usage is not None:
                    attempt.usage.add(failure.usage)
                    known = True
                return _refused(failure)
            except BakeoffError as failure:
                raised.append(failure)
                return Outcome(Status.FAILED, error=str(failure), kind="error")
            except BaseException as failure:
                raised.append(failure)
                raise
            finally:
                attempt.usage.unknown += not known

        record = await self.run.leaf(
            f"{self.prefix}attempt:{attempt.id}/generate",
            "generate",
            work,
            lanes=self.lanes,
            retry=self.options.retry,
            timeout=self.options.attempt_timeout,
            absorb=True,
            reserve=amounts,
            backlog=self.backlogs.get(attempt.id),
        )
        if record.kind == UNMADE:
            return False
        if not attempt.usage.calls:
            attempt.usage = UsageTotal(*record.output.get("used", (1, 0, 0, 0, None, 1)))
        if record.status is not Status.COMPLETED:
            self._failed(attempt, ticket, record, raised[-1] if raised else None)
            return True
        generation = made[-1] if made else _kept(record, ticket)
        attempt.output = record.output["value"] if self.durable else generation.output
        attempt.conversation, attempt.receipt = generation.conversation, generation.facts
        return True

    def _is_spent(self, amounts: Mapping[str, float]) -> bool:
        """Whether calls that ended used more than they had reserved, so that this one does not fit any more."""
        budget: Budget | None = self.run.budget
        while budget is not None:
            for kind, amount in amounts.items():
                if budget.ceilings.get(kind, math.inf) - budget.spent[kind] < amount - 1e-9:
                    return True
            budget = budget.parent
        return False

    async def _make(self, ticket: Ticket, amounts: dict[str, float]) -> Generation:
        if isinstance(self.action, Ask):
            return await self.action.make(ticket)
        leaf = HeldLeaf(self.home, self.lanes, amounts)  # user code may call the run it works in
        token = CURRENT_LEAF.set(leaf)
        try:
            return await self.action.make(ticket)
        finally:
            CURRENT_LEAF.reset(token)
            leaf.end()

    def _outcome(self, generation: Generation, used: UsageTotal) -> Outcome:
        output = generation.output
        if output is None or (isinstance(output, str) and not output.strip()):
            said = "it made nothing: the output is empty"
            return Outcome(Status.FAILED, {"used": used.to_json()}, said, "empty", usage=settled(generation.usage))
        if not self.durable:
            return Outcome(usage=settled(generation.usage))
        kept = {"value": JSON.encode(output), "used": used.to_json()}
        if isinstance(self.action, Call) and generation.conversation:
            kept["talk"] = [[message.role, message.content] for message in generation.conversation]
        return Outcome(output=kept, usage=settled(generation.usage), facts=dict(generation.facts) or None)

    def _failed(self, attempt: Attempt, ticket: Ticket, record: Record, raised: BaseException | None) -> None:
        error = AttemptError(record.kind or "error", record.error or "failed", raised)
        attempt.status, attempt.error = "error", error
        attempt.receipt = record.facts or {}
        own = ticket.previous is not None and error.kind in OWN  # a conversation of its own, which grew too long
        if record.output.get("aborted") and not own and self.stopped is None:
            self.stopped, self.fatal = Reason.PERMANENT, error

    # Its checks.

    async def _judge(self, attempt: Attempt, until: float | None) -> None:
        subject = Subject(attempt.output, attempt.conversation, attempt.receipt, attempt.not_stopped)
        if until is None:
            attempt.verdicts = await self.panel.judge(subject)
        else:
            with anyio.CancelScope(deadline=until) as scope:
                attempt.verdicts = await self.panel.judge(subject)
            if scope.cancelled_caught:
                said = f"not judged within the {self.options.attempt_timeout:g} s of the attempt"
                attempt.status, attempt.error = "error", AttemptError("timeout", said)
                return
        attempt.status = "passed" if all(verdict.result for verdict in attempt.verdicts) else "failed"

    async def _check(self, rank: int, requirement: Any, subject: Subject) -> ValidationResult:
        place = CURRENT.get()
        assert place is not None
        attempt = self.attempts[place.id]
        asks = requirement.cost == Cost.MODEL
        timeouts = [limit for limit in (getattr(requirement, "timeout", None), self.options.check_timeout) if limit]
        if self.bare and not timeouts and requirement.cost == Cost.CHEAP:
            return await examine(requirement, subject)
        path, key = f"{self.prefix}attempt:{place.id}/check:{rank}", ""
        if self.durable:
            key = self._check_key(rank, subject)
            path = f"{path}:{key[:12]}"
            if (kept := self.memo.get(key)) is not None:
                _count(attempt, kept, asks)
                return kept
        fresh: list[ValidationResult] = []

        async def work(_: int) -> Outcome:
            verdict = await examine(requirement, subject)
            fresh.append(verdict)
            output = {"verdict": to_json(verdict)} if self.durable else {}
            return Outcome(output=output, usage=settled(verdict.usage) if asks else None)

        try:
            record = await self.run.leaf(
                path,
                "check",
                work,
                key=key,
                lanes=[lane for lane in getattr(requirement, "lanes", ()) if lane in self.run.lanes.sizes],
                timeout=min(timeouts, default=None),
                absorb=True,
                reserve=check_amounts(requirement, subject, self.ceilings) if self.ceilings else {},
                backlog=self.backlogs.get(attempt.id),
            )
        except anyio.get_cancelled_exc_class():
            if asks:
                attempt.usage.calls += 1
                attempt.usage.unknown += 1
            raise
        if record.status is not Status.COMPLETED:
            verdict = ValidationResult(False, record.error or "", error=record.kind or "error")
        else:
            verdict = fresh[-1] if fresh else from_json(record.output["verdict"])
        _count(attempt, verdict, asks)
        return verdict

    def _check_key(self, rank: int, subject: Subject) -> str:
        whole = self.identities[rank].copy()
        whole.update(subject.text.encode("utf-8", "surrogatepass"))
        if self.panel.whole:
            whole.update(repr([(turn.role, turn.content) for turn in subject.conversation]).encode())
        return str(whole.hexdigest())

    def _kept_verdicts(self) -> dict[str, ValidationResult]:
        """Verdicts of earlier sessions by what was judged: the same output is not judged again at another attempt."""
        return {
            record.key: from_json(record.output["verdict"])
            for path, record in self.run.history.records.items()
            if record.type == "check" and record.status is Status.COMPLETED and path.startswith(self.prefix)
        }


def _identity(requirement: Any) -> Any:
    """The beginning of a digest of a requirement and what it judges."""
    said = getattr(requirement, "identity", None) or f"{type(requirement).__qualname__}\0{requirement.description}"
    return hashlib.blake2b(f"{len(said)}\0{said}\0".encode("utf-8", "surrogatepass"), digest_size=12)


def ceilings_of(budget: Budget) -> frozenset[str]:
    """The kinds on which a budget, or one above it, has a ceiling."""
    kinds: set[str] = set()
    above: Budget | None = budget
    while above is not None:
        kinds |= above.ceilings.keys()
        above = above.parent
    return frozenset(kinds)


def _refused(failure: ModelError) -> Outcome:
    """A call that failed; one that every other attempt would fail with aborts, so that a resumed run asks again."""
    permanent = failure.kind in PERMANENT and not failure.transient
    return Outcome(
        Status.FAILED,
        {"aborted": True} if permanent else {},
        str(failure),
        failure.kind,
        usage={**settled(failure.usage), **({"tokens": 0, "usd": 0.0} if failure.kind in UNBILLED else {})},
        facts={
            "retry_after": failure.retry_after,
            "request_id": failure.request_id,
            "status": failure.status,
            **failure.facts,
        },
    )


def _kept(record: Record, ticket: Ticket) -> Generation:
    """What an earlier session of the run made."""
    said = record.output.get("talk")
    if said is not None:
        conversation = tuple(Message(role, content) for role, content in said)
    else:
        conversation = talk(ticket.request) if ticket.request is not None else ()
    return Generation(record.output["value"], None, conversation, record.facts or {})


def _count(attempt: Attempt, verdict: ValidationResult, asks: bool) -> None:
    if asks:
        attempt.usage.calls += 1
        attempt.usage.add(verdict.usage)
