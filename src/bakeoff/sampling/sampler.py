"""Sampler: one sampling at work, which makes attempts, has them judged, and keeps what became of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from bakeoff.engine.budget import Budget
from bakeoff.engine.journal import CommitQueue
from bakeoff.engine.run import Run
from bakeoff.errors import BudgetSpentError
from bakeoff.judge.subject import CURRENT, CurrentAttempt, Subject
from bakeoff.sampling.action import Ask, Call, Ticket
from bakeoff.sampling.checks import Checks
from bakeoff.sampling.events import Announcer, AttemptEnded, Repaired
from bakeoff.sampling.generation import AttemptGeneration
from bakeoff.sampling.options import Options
from bakeoff.sampling.result import Attempt, AttemptError, Reason


@dataclass(slots=True, eq=False)
class Sampler:
    """The sampler that a strategy works with. All of it is touched in the event loop's thread only.

    Attributes:
        run: where attempts are leaves.
        home: the run that leaves of user code belong to; `run` itself unless that is a view with another budget.
        identity: what all generations depend on; empty where results are not found again.
        durable: whether results are found again.
        loop_budget: rounds of a lane.
        concurrency_budget: most attempts at work at once.
        attempts: every attempt that began, by id.
        stopped: why no further attempt begins; None while they do.
        short: what stands in the way of a further attempt, where the budget does.
        fatal: the permanent error that stopped it, met `fatal_count` times.
        facts: what the strategy adds to the result.
    """

    run: Run
    home: Run
    prefix: str
    identity: str
    durable: bool
    action: Ask | Call
    requirements: Sequence[Any]
    options: Options
    announcer: Announcer
    sampling_id: str
    loop_budget: int
    concurrency_budget: int
    attempts: dict[int, Attempt] = field(default_factory=dict)
    stopped: Reason | None = None
    short: str = ""
    fatal: AttemptError | None = None
    fatal_count: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    queues: dict[int, CommitQueue] = field(default_factory=dict)
    ceilings: frozenset[str] = field(init=False)
    lanes: tuple[str, ...] = field(init=False)
    checks: Checks = field(init=False)

    def __post_init__(self) -> None:
        self.ceilings, self.lanes = ceilings_of(self.run.budget), tuple(self.options.lanes)
        self.checks = Checks(
            self.run, self.prefix, self.durable, self.requirements, self.options, self.ceilings, self.stop
        )

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
        commit_queue = CommitQueue(len(self.requirements) + 1) if self.durable else None
        if commit_queue is not None:
            self.queues[attempt.id] = commit_queue
        try:
            if await AttemptGeneration(self, attempt, ticket).carry_out() and attempt.error is None:
                await self._judge(attempt, until)
        except BudgetSpentError as failure:
            self.stopped = self.stopped or Reason.CAP
            self.short = self.short or str(failure)
            attempt.status = "error"
            # A try that failed and may not be repeated has a name of its own.
            attempt.error = attempt.error or AttemptError("budget", str(failure), failure)
        finally:
            self.queues.pop(attempt.id, None)
        if commit_queue is not None:
            await commit_queue.drained()

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

    def stop(self, error: AttemptError) -> None:
        """Begin no further attempt, because of an error that each would meet."""
        self.fatal_count += 1
        if self.fatal is None:
            self.fatal = error
            self.stopped = self.stopped or Reason.PERMANENT

    async def _judge(self, attempt: Attempt, until: float | None) -> None:
        subject = Subject(attempt.output, attempt.conversation, attempt.receipt, attempt.not_stopped)
        if until is None:
            attempt.verdicts = await self.checks.judge(attempt, subject, self.queues.get(attempt.id))
        else:
            with anyio.CancelScope(deadline=until) as scope:
                attempt.verdicts = await self.checks.judge(attempt, subject, self.queues.get(attempt.id))
            if scope.cancelled_caught:
                said = f"not judged within the {self.options.attempt_timeout:g} s of the attempt"
                attempt.status, attempt.error = "error", AttemptError("timeout", said)
                return
        attempt.status = "passed" if all(verdict.result for verdict in attempt.verdicts) else "failed"


def ceilings_of(budget: Budget) -> frozenset[str]:
    """The kinds on which a budget, or one above it, has a ceiling."""
    kinds: set[str] = set()
    above: Budget | None = budget
    while above is not None:
        kinds |= above.ceilings.keys()
        above = above.parent
    return frozenset(kinds)
