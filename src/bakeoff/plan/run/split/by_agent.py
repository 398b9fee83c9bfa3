"""Agent asked how a goal is to be split: it may look at the project, in a slot of which nothing is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.agent.entry import Entry
from bakeoff.agent.runner import AgentRequest, run_agent
from bakeoff.agent.sandbox import sandboxed
from bakeoff.api.durable import DurableRun
from bakeoff.engine.retry import ONCE, Retry
from bakeoff.plan.errors import PlanError
from bakeoff.plan.run.split.question import AGAIN, TRIES, Proposal, Question
from bakeoff.process.command import Processes
from bakeoff.sampling.action import Generation, Ticket
from bakeoff.sampling.attempt.attempts import AGENTS
from bakeoff.sampling.attempt.checkpoint import AttemptFailure, CallCheckpoint, digest, free_log
from bakeoff.sampling.attempt.maker import QUIET
from bakeoff.sampling.attempt.options import AttemptOptions
from bakeoff.sampling.errors import machinery
from bakeoff.sampling.repair import RepairTemplateStrategy
from bakeoff.sampling.result import SamplingError
from bakeoff.sampling.sample import sample
from bakeoff.workspace.errors import WorkspaceError
from bakeoff.workspace.slots.commands import InSandbox
from bakeoff.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class SplittingAgent:
    """Has an agent say how to split a goal.

    Attributes:
        logs: folder for transcripts.
        reserve: what one call may use at most, by kind.
        retry: which failures of a call are tried again.
        lanes: lanes that a call holds besides its own.
        label: what the names of its log files begin with.
        tell: told in words what was wrong with an answer.
    """

    entry: Entry
    question: Question
    options: AttemptOptions
    workspace: Workspace
    processes: Processes
    logs: Path
    reserve: Mapping[str, float]
    retry: Retry = ONCE
    lanes: Sequence[str] = ()
    env: Mapping[str, str | None] = field(default_factory=dict)
    label: str = ""
    tell: Callable[[str], None] = lambda text: None

    async def ask(self, run: DurableRun, path: str) -> Proposal:
        """Have it say so; it is told what is wrong with an answer that cannot be used.

        Each call is a node of the run below `path` and counts in its budget; what an earlier session got from there is
        not asked for again. Cancelled, the agent has ended before this returns.

        Raises:
            PlanError: it cannot be asked at all (its login, no slot).

        Passes on PlanError: no answer of it could be used. BudgetSpentError: there is a ceiling in the way.
        """
        try:
            result = await sample(
                self,
                [self.question.requirement()],
                strategy=RepairTemplateStrategy(loop_budget=TRIES, template=AGAIN),
                run=run,
                name="split",
                version=self.question.id,
                prefix=path,
                reserve=dict(self.reserve),
                retry=self.retry,
                lanes=(AGENTS, *self.lanes),
            )
        except SamplingError as failure:
            raise PlanError(f"{self.entry.name} could not say how to split it: {failure}") from failure
        return self.question.proposal(result, result.usage)

    async def make(self, attempt: Ticket) -> Generation:
        """Ask it once, in a slot of its own.

        Raises:
            OSError: whatever else the system refuses.

        Passes on AttemptFailure: it failed, or there was no slot or no room.
        """
        if attempt.feedback:
            first = attempt.feedback.splitlines()[0].removeprefix("- what it proposes: ")
            self.tell(f"{self.entry.name} proposed what cannot be used: {first}")
        checkpoint, attempt.checkpoint, attempt.begun = attempt.checkpoint, None, False
        try:
            said = await self._call(attempt) if checkpoint is None else CallCheckpoint.from_json(checkpoint)
        except WorkspaceError as failure:
            kind = str(machinery(failure) or getattr(failure, "kind", "workspace"))
            raise self._failed(str(failure), kind, attempt) from failure
        except OSError as failure:
            if (broken := machinery(failure)) is None:
                raise
            raise self._failed(str(failure), broken, attempt) from failure
        if said.error is not None:
            raise said.failure(said.facts)
        return Generation(said.text, said.usage, (), said.facts)

    async def resumes(self, attempt: Ticket, checkpoint: Mapping[str, Any]) -> bool:
        """Whether an answer that is on record is one to what is asked now."""
        return CallCheckpoint.from_json(checkpoint).asked == self._asked(attempt)

    @staticmethod
    def _failed(text: str, kind: str, ticket: Ticket) -> AttemptFailure:
        """Failure of the machinery; a call that was not begun does not count."""
        failure = AttemptFailure(text, kind)
        failure.unbegun = not ticket.begun
        return failure

    def _prompt(self, ticket: Ticket) -> str:
        again = "\n\n" + AGAIN.replace("{failures}", ticket.feedback) if ticket.feedback else ""
        return self.question.text + again

    def _asked(self, ticket: Ticket) -> str:
        return digest(self.entry.name, self._prompt(ticket), self.workspace.snapshot.tree)

    async def _call(self, ticket: Ticket) -> CallCheckpoint:
        settings, options = self.question.settings, self.options
        counted = None if options.max_tokens is None else int(options.max_tokens) + 1
        request = AgentRequest(
            self._prompt(ticket),
            model=options.model,
            max_usd=self.reserve.get("usd", settings.max_usd),
        )
        async with self.workspace.lease() as slot:
            slot.disposable = True
            level = options.agent_sandbox or settings.agent_sandbox
            agent, box = await sandboxed(self.entry, slot, level, settings.agent_sockets)
            try:
                result = await run_agent(
                    agent,
                    request,
                    InSandbox(box, self.processes),
                    cwd=slot.path,
                    log=free_log(self.logs, f"{self.label}split-{ticket.id}"),
                    env={**QUIET, **self.env},
                    timeout=options.timeout,
                    grace=settings.grace,
                    temp=str(slot.temp),
                    heard=ticket.heard,
                    begins=ticket.begins,
                )
                said = CallCheckpoint.of(result, self._asked(ticket), counted, words=True)
                if result.dispatched:
                    await ticket.write_checkpoint(said.charged, said.to_json())
            finally:
                await slot.end_processes()
        return said
