"""Source `agent`: coding agents that work at the target, each in a slot of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from bakeoff.engine.record import Outcome, Record, Status
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.engine.run import Run, Work
from bakeoff.errors import BakeoffError
from bakeoff.optimize.candidate import Candidate
from bakeoff.optimize.sources import prompts
from bakeoff.optimize.sources.as_completed import as_completed
from bakeoff.optimize.sources.commits import changed_files
from bakeoff.optimize.sources.models import digest, slug
from bakeoff.optimize.sources.source import Context, Failure, ProfileLine
from bakeoff.sampling.action import Ticket
from bakeoff.sampling.attempt.attempts import AGENTS
from bakeoff.sampling.attempt.checkpoint import AttemptFailure
from bakeoff.sampling.attempt.maker import AgentMaker
from bakeoff.sampling.errors import MACHINERY, refused
from bakeoff.sampling.result import Attempt
from bakeoff.sampling.sampler import ceilings_of
from bakeoff.sampling.usage import settled
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import SlotError
from bakeoff.workspace.workspace import Workspace

NOTHING_MADE = "empty"
"""The kind of failure of an agent that changed nothing that counts: its candidate is invalid."""


@dataclass(slots=True)
class AgentSource:
    """Asks a coding agent, every call being a node of the run: work that has ended is never paid for again.

    What it changes in tests and their configuration is left out. Nodes: `source:agent/NAME/WHAT`.

    Attributes:
        run: where calls are nodes.
        maker: carries them out; its task is set for each.
        write: makes a commit of a candidate of another source, which an agent is to go on with.
        samples: how often it is asked at first.
        reserve: what one call may use of the budget.
        retry: which failures are tried again.
        prefix: what the paths of nodes begin with.
    """

    run: Run
    maker: AgentMaker
    write: Callable[[Candidate], Awaitable[str]]
    samples: int = 1
    reserve: dict[str, float] = field(default_factory=dict)
    retry: Retry = ONCE
    prefix: str = ""
    name: str = field(init=False)
    reads: frozenset[str] = field(default=frozenset({"profile", "calls", "code"}), init=False)

    def __post_init__(self) -> None:
        self.name = f"agent/{slug(self.maker.entry.name)}"

    async def propose(self, context: Context) -> AsyncIterator[Candidate]:
        """Candidates that each of them made. Passes on what `_work` raises."""
        works = [partial(self._work, context, f"propose/{number}", number) for number in range(1, self.samples + 1)]
        async with aclosing(as_completed(works)) as made:
            async for candidate in made:
                yield candidate

    async def repair(self, context: Context, failures: Sequence[Failure]) -> AsyncIterator[Candidate]:
        """Each goes on with its own work, in its own session where the agent can do that."""
        works = [
            partial(self._go_on, context, "repair", failure.candidate, prompts.differences(failure))
            for failure in failures
        ]
        async with aclosing(as_completed(works)) as made:
            async for candidate in made:
                yield candidate

    async def refine(
        self, context: Context, winners: Sequence[Candidate], profile: Sequence[ProfileLine]
    ) -> AsyncIterator[Candidate]:
        """One goes on with the best of them, and sees the others."""
        feedback = prompts.refine_feedback(context, winners, profile)
        yield await self._go_on(context, "refine", winners[0], feedback)

    async def adapt(self, context: Context, lineage: Sequence[Candidate]) -> AsyncIterator[Candidate]:
        """One goes on at the end of the line."""
        feedback = prompts.refine_feedback(context, lineage[::-1], ())
        yield await self._go_on(context, "adapt", lineage[-1], feedback)

    async def _go_on(self, context: Context, what: str, parent: Candidate, feedback: str) -> Candidate:
        label = f"{what}/{digest([parent])}"

        async def receipt() -> dict[str, Any]:
            own, _, rest = parent.origin.partition(f"{self.name}/")
            record = None if own else self.run.history.records.get(f"{self.prefix}source:{self.name}/{rest}")
            if record is not None and record.status is Status.COMPLETED:
                return dict(record.output)
            return {"commit": await self.write(parent)}

        return await self._work(context, label, 1, parent, receipt, feedback)

    async def _work(
        self,
        context: Context,
        label: str,
        number: int,
        parent: Candidate | None = None,
        receipt: Callable[[], Awaitable[dict[str, Any]]] | None = None,
        feedback: str = "",
    ) -> Candidate:
        """Work of an agent, out of the record where an earlier session has it. Cancelled, the agent has ended.

        Passes on BakeoffError: it failed, after all tries; SlotError: what it needs here is not to be had.
        BudgetSpentError.
        """
        # What it is asked has figures that were measured; what it is asked about is in the label.
        own_label = f"{slug(f'{self.prefix}{self.name}-{label}')}-"
        maker = replace(self.maker, task=prompts.agent_task(context), label=own_label, asked=label)

        path = f"{self.prefix}source:{self.name}/{label}"

        async def new_ticket() -> Ticket:
            ticket = Ticket(number, number, 0, write_checkpoint=partial(self.run.checkpoint, path, ""))
            ticket.heard = self.run.hearing(path)
            if receipt is not None:
                ticket.previous = Attempt(number, number, 0, receipt=await receipt())
                ticket.feedback = feedback
            return ticket

        async def resume_from(checkpoint: Mapping[str, Any]) -> Work | None:
            ticket = await new_ticket()
            return partial(work, checkpoint=checkpoint) if await maker.resumes(ticket, checkpoint) else None

        async def work(_: int, checkpoint: Mapping[str, Any] | None = None) -> Outcome:
            ticket = await new_ticket()
            ticket.checkpoint = checkpoint
            try:
                made = await maker.make(ticket)
            except AttemptFailure as failure:
                if failure.kind == NOTHING_MADE:
                    return Outcome(
                        output={NOTHING_MADE: str(failure)}, usage=settled(failure.usage), facts=failure.facts
                    )
                return refused(failure)
            return Outcome(output=dict(made.facts), usage=settled(made.usage), facts=dict(made.facts))

        reserve = {kind: self.reserve[kind] for kind in ceilings_of(self.run.budget) | {"calls"}}
        record = await self.run.leaf(
            path, "agent", work, lanes=(AGENTS,), retry=self.retry, reserve=reserve, resume_from=resume_from
        )
        return await self._candidate(
            record, f"{self.name}/{label}", None if parent is None else parent.id, maker.workspace
        )

    async def _candidate(self, record: Record, origin: str, parent: str | None, workspace: Workspace) -> Candidate:
        """Candidate out of the record of an agent's call.

        Raises:
            BakeoffError: it failed.
            SlotError: what it needs here is not to be had.
        """
        if record.status is not Status.COMPLETED:
            if record.kind in MACHINERY:
                raise SlotError(record.error or "failed")
            raise BakeoffError(record.error or "failed")
        if NOTHING_MADE in record.output:
            return Candidate(origin, {}, parent=parent, invalid=str(record.output[NOTHING_MADE]))
        files = await in_thread(changed_files, workspace, str(record.output["judged"]))
        return Candidate(origin, files, str(record.output.get("text", "")).strip()[:300], parent)
