"""Generation of an attempt as a leaf of a run: its tries, its checkpoint, its outcome and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bakeoff.api.codec import JSON
from bakeoff.api.nesting import CURRENT as CURRENT_LEAF
from bakeoff.api.nesting import HeldLeaf
from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.run import Work
from bakeoff.errors import BakeoffError
from bakeoff.model.protocol import Message, ModelError
from bakeoff.sampling.action import Ask, Call, Generation, Ticket, talk
from bakeoff.sampling.errors import FAULTS, OWN, refused, unbilled
from bakeoff.sampling.result import Attempt, AttemptError, Reason
from bakeoff.sampling.tries import Tries
from bakeoff.sampling.usage import UsageTotal, settled

if TYPE_CHECKING:
    from bakeoff.sampling.sampler import Sampler

UNMADE = "unmade"
"""The kind of a generation that was not begun: it had waited for its lanes, and in the meantime sampling stopped."""


class AttemptGeneration:
    """The generation of one attempt."""

    def __init__(self, sampler: Sampler, attempt: Attempt, ticket: Ticket) -> None:
        self.sampler, self.attempt, self.ticket = sampler, attempt, ticket
        self.action, self.durable = sampler.action, sampler.durable
        if isinstance(self.action, Ask):
            ticket.request = attempt.request = self.action.request_of(ticket)
        self.amounts = sampler.options.amounts(self.action, ticket, sampler.ceilings)
        self.made: Generation | None = None
        self.raised: BaseException | None = None
        self.fault: Exception | None = None
        self.tried_again: list[ModelError] = []

    async def carry_out(self) -> bool:
        """Make it, or find it again; whether it was begun. Passes on what the action raised that is a bug."""
        sampler, attempt, ticket = self.sampler, self.attempt, self.ticket
        path = f"{sampler.prefix}attempt:{attempt.id}/generate"
        key = f"{sampler.identity}:{attempt.id}" if self.durable else ""
        resumable = isinstance(self.action, Call) and self.action.resumes is not None and self.durable
        if isinstance(self.action, Call):
            ticket.heard = sampler.run.hearing(path)
        if resumable:
            ticket.write_checkpoint = partial(sampler.run.checkpoint, path, key)
        record = await sampler.run.leaf(
            path,
            "generate",
            self._work,
            key=key,
            lanes=sampler.lanes,
            retry=sampler.options.retry,
            timeout=sampler.options.attempt_timeout,
            continue_on_error=True,
            reserve=self.amounts,
            commit_queue=sampler.queues.get(attempt.id),
            resume_from=self._resume_from if resumable else None,
        )
        if record.kind == UNMADE:
            return False
        if self.fault is not None:  # a resumed run, of a program that was mended, makes this attempt again
            raise self.fault
        if not attempt.usage.calls:
            attempt.usage = UsageTotal(*record.output.get("used", (1, 0, 0, 0, None, 1)))
        attempt.error = None
        if record.status is not Status.COMPLETED:
            self._failed(record)
            return True
        generation = _kept(record, ticket) if self.made is None else self.made
        attempt.output = record.output["value"] if self.durable else generation.output
        attempt.conversation, attempt.receipt = generation.conversation, generation.facts
        return True

    async def _work(self, _: int) -> Outcome:
        sampler = self.sampler
        # Calls that ended may have used more than they had reserved, so that this one does not fit any more.
        paid = self.ticket.checkpoint is not None
        if not paid and sampler.stopped is None and (short := sampler.run.budget.shortage(self.amounts)):
            sampler.stopped, sampler.short = Reason.CAP, f"the budget is spent: {short}"
        if not paid and sampler.stopped is not None:
            none = dict.fromkeys(("calls", *self.amounts), 0)
            return Outcome(Status.FAILED, {"aborted": True}, f"not begun: {sampler.stopped}", UNMADE, usage=none)
        with Tries(sampler.run.budget, self.amounts, self.attempt.usage, self.tried_again) as tries:
            outcome = await self._tried(tries)
        if tries.short is not None and sampler.stopped is None:
            sampler.stopped, sampler.short = Reason.CAP, f"the budget is spent: {tries.short}"
        return replace(outcome, usage=tries.whole(outcome.usage))

    async def _tried(self, tries: Tries) -> Outcome:
        """The outcome of one try; its usage is added to the attempt's, or counted as unknown."""
        attempt = self.attempt
        attempt.usage.calls += 1
        known = False
        try:
            try:
                generation = await self._make()
            finally:
                tries.count()
            attempt.usage.add(generation.usage)
            known = True
            self.made = generation
            return self._outcome(generation)
        except ModelError as failure:
            self.raised = failure
            attempt.error = AttemptError(failure.kind, str(failure), failure)
            known = unbilled(failure)
            if failure.usage is not None:
                attempt.usage.add(failure.usage)
                known = True
            return refused(failure)
        except BakeoffError as failure:
            self.raised = failure
            return Outcome(Status.FAILED, error=str(failure), kind="error")
        except FAULTS as failure:
            self.fault = self.fault or failure
            return Outcome(Status.FAILED, {"aborted": True}, repr(failure), "error")
        except BaseException as failure:
            self.raised = failure
            raise
        finally:
            attempt.usage.unknown += not known

    async def _resume_from(self, checkpoint: Mapping[str, Any]) -> Work | None:
        assert isinstance(self.action, Call)
        assert self.action.resumes is not None
        if not await self.action.resumes(self.ticket, checkpoint):
            return None
        self.ticket.checkpoint = checkpoint
        return self._work

    async def _make(self) -> Generation:
        if isinstance(self.action, Ask):
            return await self.action.make(self.ticket)
        leaf = HeldLeaf(self.sampler.home, self.sampler.lanes, self.amounts)  # user code may call the run it works in
        token = CURRENT_LEAF.set(leaf)
        try:
            return await self.action.make(self.ticket)
        finally:
            CURRENT_LEAF.reset(token)
            leaf.end()

    def _outcome(self, generation: Generation) -> Outcome:
        output, used = generation.output, self.attempt.usage
        if output is None or (isinstance(output, str) and not output.strip()):
            said = "it made nothing: the output is empty"
            return Outcome(Status.FAILED, {"used": used.to_json()}, said, "empty", usage=settled(generation.usage))
        if not self.durable:
            return Outcome(usage=settled(generation.usage))
        kept = {"value": JSON.encode(output), "used": used.to_json()}
        if isinstance(self.action, Call) and generation.conversation:
            kept["talk"] = [[message.role, message.content] for message in generation.conversation]
        return Outcome(output=kept, usage=settled(generation.usage), facts=dict(generation.facts) or None)

    def _failed(self, record: Record) -> None:
        attempt, tried_again = self.attempt, self.tried_again
        error = AttemptError(record.kind or "error", record.error or "failed", self.raised)
        attempt.receipt = record.facts or {}
        # A conversation of its own, which grew too long, stops no other attempt.
        own = self.ticket.previous is not None and error.kind in OWN
        if record.output.get("aborted") and not own:
            self.sampler.stop(error)
        if error.kind == "timeout" and tried_again:
            said = f"{error.message}; until then its model had failed: {tried_again[-1]}"
            error = AttemptError("timeout", said, tried_again[-1])
        attempt.status, attempt.error = "error", error


def _kept(record: Record, ticket: Ticket) -> Generation:
    """Generation that an earlier session of the run made."""
    said = record.output.get("talk")
    if said is not None:
        conversation = tuple(Message(role, content) for role, content in said)
    else:
        conversation = talk(ticket.request) if ticket.request is not None else ()
    return Generation(record.output["value"], None, conversation, record.facts or {})
