"""One sampling at work: makes attempts, has them judged, keeps what became of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio

from bakeoff.api.codec import JSON
from bakeoff.api.nesting import CURRENT as CURRENT_LEAF
from bakeoff.api.nesting import HeldLeaf
from bakeoff.engine.budget import Budget
from bakeoff.engine.journal import CommitQueue
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.run import Run, Work
from bakeoff.errors import BakeoffError, BudgetSpentError
from bakeoff.judge.subject import CURRENT, CurrentAttempt, Subject
from bakeoff.model.protocol import Message, ModelError
from bakeoff.sampling.action import Ask, Call, Generation, Ticket, talk
from bakeoff.sampling.checks import Checks
from bakeoff.sampling.errors import FAULTS, OWN, refused, unbilled
from bakeoff.sampling.events import Announcer, AttemptEnded, Repaired
from bakeoff.sampling.options import Options
from bakeoff.sampling.result import Attempt, AttemptError, Reason
from bakeoff.sampling.tries import Tries
from bakeoff.sampling.usage import UsageTotal, settled

UNMADE = "unmade"
"""The kind of a generation that was not begun: it had waited for its lanes, and in the meantime sampling stopped."""


class Sampler:
    """What a strategy works with. All of it is touched in the event loop's thread only.

    Args:
        run: where attempts are leaves.
        home: the run that leaves of user code belong to; `run` itself unless that is a view with another budget.
        prefix: of the leaves' paths.
        identity: what all generations depend on; empty where results are not found again.
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
        short: what stands in the way of a further attempt, where the budget does.
        fatal: the permanent error that stopped it.
        fatal_count: how often such errors were met.
        facts: what the strategy adds to the result.
    """

    def __init__(
        self,
        *,
        run: Run,
        home: Run,
        prefix: str,
        identity: str,
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
        self.identity = identity
        self.action = action
        self.requirements = requirements
        self.options = options
        self.announcer = announcer
        self.sampling_id = sampling_id
        self.loop_budget, self.concurrency_budget = loop_budget, concurrency_budget
        self.attempts: dict[int, Attempt] = {}
        self.stopped: Reason | None = None
        self.short = ""
        self.fatal: AttemptError | None = None
        self.fatal_count = 0
        self.facts: dict[str, Any] = {}
        self.ceilings = ceilings_of(run.budget)
        self.queues: dict[int, CommitQueue] = {}
        self.most_leaves = len(requirements) + 1
        self.lanes = tuple(options.lanes)
        self.checks = Checks(run, prefix, durable, requirements, options, self.ceilings, self.stop)

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
        commit_queue = CommitQueue(self.most_leaves) if self.durable else None
        if commit_queue is not None:
            self.queues[attempt.id] = commit_queue
        try:
            if await self._generate(attempt, ticket) and attempt.error is None:
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

    # An attempt's generation.

    async def _generate(self, attempt: Attempt, ticket: Ticket) -> bool:
        """Whether it was begun."""
        if isinstance(self.action, Ask):
            ticket.request = attempt.request = self.action.request_of(ticket)
        amounts = self.options.amounts(self.action, ticket, self.ceilings)
        made: list[Generation] = []
        raised: list[BaseException] = []
        faults: list[Exception] = []
        tried_again: list[ModelError] = []
        budget = self.run.budget

        async def work(_: int) -> Outcome:
            # Calls that ended may have used more than they had reserved, so that this one does not fit any more.
            paid = ticket.checkpoint is not None
            if not paid and self.stopped is None and (short := budget.shortage(amounts)):
                self.stopped, self.short = Reason.CAP, f"the budget is spent: {short}"
            if not paid and self.stopped is not None:
                none = dict.fromkeys(("calls", *amounts), 0)
                return Outcome(Status.FAILED, {"aborted": True}, f"not begun: {self.stopped}", UNMADE, usage=none)
            with Tries(budget, amounts, attempt.usage, tried_again) as tries:
                outcome = await tried(tries)
            if tries.short is not None and self.stopped is None:
                self.stopped, self.short = Reason.CAP, f"the budget is spent: {tries.short}"
            return replace(outcome, usage=tries.whole(outcome.usage))

        async def tried(tries: Tries) -> Outcome:
            attempt.usage.calls += 1
            known = False
            try:
                try:
                    generation = await self._make(ticket, amounts)
                finally:
                    tries.count()
                attempt.usage.add(generation.usage)
                known = True
                made[:] = [generation]
                return self._outcome(generation, attempt.usage)
            except ModelError as failure:
                raised.append(failure)
                attempt.error = AttemptError(failure.kind, str(failure), failure)
                known = unbilled(failure)
                if failure.usage is not None:
                    attempt.usage.add(failure.usage)
                    known = True
                return refused(failure)
            except BakeoffError as failure:
                raised.append(failure)
                return Outcome(Status.FAILED, error=str(failure), kind="error")
            except FAULTS as failure:
                faults.append(failure)
                return Outcome(Status.FAILED, {"aborted": True}, repr(failure), "error")
            except BaseException as failure:
                raised.append(failure)
                raise
            finally:
                attempt.usage.unknown += not known

        async def resume_from(checkpoint: Mapping[str, Any]) -> Work | None:
            assert isinstance(self.action, Call)
            assert self.action.resumes is not None
            if not await self.action.resumes(ticket, checkpoint):
                return None
            ticket.checkpoint = checkpoint
            return work

        path = f"{self.prefix}attempt:{attempt.id}/generate"
        key = f"{self.identity}:{attempt.id}" if self.durable else ""
        resumable = isinstance(self.action, Call) and self.action.resumes is not None and self.durable
        if isinstance(self.action, Call):
            ticket.heard = self.run.hearing(path)
        if resumable:
            ticket.write_checkpoint = partial(self.run.checkpoint, path, key)
        record = await self.run.leaf(
            path,
            "generate",
            work,
            key=key,
            lanes=self.lanes,
            retry=self.options.retry,
            timeout=self.options.attempt_timeout,
            continue_on_error=True,
            reserve=amounts,
            commit_queue=self.queues.get(attempt.id),
            resume_from=resume_from if resumable else None,
        )
        if record.kind == UNMADE:
            return False
        if faults:  # a resumed run, of a program that was mended, makes this attempt again
            raise faults[0]
        if not attempt.usage.calls:
            attempt.usage = UsageTotal(*record.output.get("used", (1, 0, 0, 0, None, 1)))
        attempt.error = None
        if record.status is not Status.COMPLETED:
            self._failed(attempt, ticket, record, raised[-1] if raised else None)
            if attempt.error is not None and attempt.error.kind == "timeout" and tried_again:
                said = f"{attempt.error.message}; until then its model had failed: {tried_again[-1]}"
                attempt.error = AttemptError("timeout", said, tried_again[-1])
            return True
        generation = made[-1] if made else _kept(record, ticket)
        attempt.output = record.output["value"] if self.durable else generation.output
        attempt.conversation, attempt.receipt = generation.conversation, generation.facts
        return True

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
        if record.output.get("aborted") and not own:
            self.stop(error)

    # Its checks.

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


def _kept(record: Record, ticket: Ticket) -> Generation:
    """What an earlier session of the run made."""
    said = record.output.get("talk")
    if said is not None:
        conversation = tuple(Message(role, content) for role, content in said)
    else:
        conversation = talk(ticket.request) if ticket.request is not None else ()
    return Generation(record.output["value"], None, conversation, record.facts or {})
