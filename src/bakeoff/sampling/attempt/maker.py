"""Maker of attempts by coding agents: each works in a slot, and its work is kept as a commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bakeoff.agent.entry import Entry
from bakeoff.agent.result import AgentResult
from bakeoff.agent.runner import AgentRequest, run_agent
from bakeoff.agent.sandbox import sandboxed
from bakeoff.judge.checks.protected import Protection
from bakeoff.process.command import Processes
from bakeoff.report.escape import path_text
from bakeoff.sampling.action import Generation, Ticket
from bakeoff.sampling.attempt.checkpoint import AttemptFailure, CallCheckpoint, digest, free_log
from bakeoff.sampling.attempt.judged_result import keep
from bakeoff.sampling.errors import MACHINERY, machinery
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.errors import GitError, SlotError, WorkspaceError
from bakeoff.workspace.full_disk import full_disk, is_short
from bakeoff.workspace.repository.repository import ref_name
from bakeoff.workspace.results.results import Result, result_at
from bakeoff.workspace.results.salvage import salvage_name
from bakeoff.workspace.sandbox.sandbox import Sandbox
from bakeoff.workspace.slots.commands import InSandbox
from bakeoff.workspace.slots.slot import Slot
from bakeoff.workspace.snapshot.cone import Cone
from bakeoff.workspace.workspace import Workspace

REPAIR = """Your work so far does not meet these requirements:
{failures}
It is still in the work tree. Change it so that it meets all of them."""

AFRESH = """{task}

Somebody has tried already, and that work is in the work tree. It does not meet these requirements:
{failures}
Change it so that it meets all of them."""

UNCHANGED = """Your work so far left nothing that can be judged:
{failures}
Change the files in your work tree now, so that they do what was asked."""

UNCHANGED_AFRESH = """{task}

Somebody has tried already, and left nothing that can be judged:
{failures}
Change the files in your work tree, so that they do what is asked."""

PARTIAL = """Your work tree has only the folders of the project that this is about. The other files are there all the
same, and stay as they are: `git ls-files` names them, `git show HEAD:PATH` prints one, and
`git sparse-checkout add FOLDER` puts a folder into your work tree.
Only files that you had at the start can be deleted."""
"""Addition to the task of an agent whose slot has a part of the files only."""

QUIET = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Keeps the files that Python caches out of a project that does not ignore them."""


@dataclass(slots=True)
class AgentMaker:
    """Has an agent work at a task.

    Attributes:
        model: None for the agent's own default.
        max_usd: handed to the agent's own cap, where it has one.
        timeout: seconds for one call.
        grace: seconds between TERM and KILL.
        all_tokens: what a call counts that does not say how many tokens it used; None where nobody counts.
        level: what must hold back the agent: `full`, `weak` (what can be had) or `none`.
        sockets: those of the user's other programs that the agent may connect to.
        resumed: results of an earlier session may be there that no record names.
        cone: the files that it is to have in its slot where that may be sparse; None for all.
        label: what the names of its results and log files begin with.
        asked: what stands for the words of a task that may differ a little each time it is put; the words if left out.
    """

    entry: Entry
    task: str
    workspace: Workspace
    processes: Processes
    protection: Protection
    run: str
    logs: Path
    model: str | None = None
    max_usd: float | None = None
    timeout: float | None = None
    grace: float = 5.0
    all_tokens: int | None = None
    resumed: bool = False
    level: str = "weak"
    sockets: Sequence[str] = ()
    cone: Cone | None = None
    label: str = ""
    env: Mapping[str, str | None] = field(default_factory=dict)
    asked: str | None = None
    made: set[str] = field(default_factory=set)

    async def make(self, attempt: Ticket) -> Generation:
        """Let the agent work, and keep what it made; or go on from what an earlier session put on record of its call.

        Its output is the judged `tree` alone, so that equal trees are judged once; its facts name commits, session,
        transcript and diff. Cancelled, the agent has ended and its work is kept before this returns.

        Raises:
            OSError: whatever else the system refuses.

        Passes on AttemptFailure: the agent failed, or changed nothing that counts; or there was no slot, process, room.
        """
        checkpoint, attempt.checkpoint, attempt.begun = attempt.checkpoint, None, False
        said = None if checkpoint is None else CallCheckpoint.from_json(checkpoint)
        name = self._name(attempt)
        try:
            if said is not None:
                return await self._generation(said, await self._made(said.name))
            async with self.workspace.lease(self.cone) as slot:
                said = await self._work(slot, attempt, name)
                return await self._generation(said, await slot.commit(name, self._title(attempt)))
        except WorkspaceError as failure:
            kind = str(machinery(failure) or getattr(failure, "kind", "workspace"))
            raise self._broken(str(failure), kind, said, attempt) from failure
        except OSError as failure:
            if (broken := machinery(failure)) is None:
                raise
            raise self._broken(
                full_disk(failure) if broken == "space" else str(failure), broken, said, attempt
            ) from failure

    async def resumes(self, attempt: Ticket, checkpoint: Mapping[str, Any]) -> bool:
        """Whether what is on record of a call can be gone on from: it was asked the same, and what it made is there.

        Raises:
            SlotError: what it made is still in its slot, and cannot be taken out of it now.

        Passes on GitError: bakeoff's repository cannot be read.
        """
        said = CallCheckpoint.from_json(checkpoint)
        if said.asked != self._asked(attempt):
            return False
        made = await in_thread(result_at, self.workspace.base, ref_name(self.run, said.name))
        if made is None and (why := self.workspace.swept.kept.get(said.slot)) is not None:
            raise SlotError(f"what attempt {attempt.id} made is in the slot {said.slot}, and cannot be saved: {why}")
        return made is not None

    def _name(self, ticket: Ticket) -> str:
        return f"{self.label}attempt-{ticket.id}"

    def _title(self, ticket: Ticket) -> str:
        return f"{self.label}attempt {ticket.id} by {self.entry.name}, run {self.run}"

    def _asked(self, ticket: Ticket) -> str:
        """Digest of what a call is asked, and on what."""
        before = ticket.previous.receipt.get("commit", "") if ticket.previous is not None else ""
        words = (self.task, ticket.feedback, before) if self.asked is None else (self.asked,)
        return digest(self.entry.name, self.model or "", self.workspace.snapshot.tree, *words)

    def _broken(self, text: str, kind: str, said: CallCheckpoint | None, ticket: Ticket) -> AttemptFailure:
        """A failure of the machinery; a call that ended before it counts, and what it made may still be had."""
        usage = None if said is None else said.usage
        failure = AttemptFailure(text, kind, usage=usage, facts={"salvaged": list(self.workspace.salvaged)})
        failure.replied = said is not None and kind in MACHINERY
        failure.unbegun = said is None and not ticket.begun
        return failure

    async def _work(self, slot: Slot, ticket: Ticket, name: str) -> CallCheckpoint:
        """Checkpoint of the agent's call; when this returns, that is on record, and so is that its result is due."""
        if self.resumed or name in self.made:
            await in_thread(self._put_aside, name)
        self.made.add(name)
        entry, box = await sandboxed(self.entry, slot, self.level, self.sockets)
        try:
            result = await self._ask(entry, box, ticket)
            said = CallCheckpoint.of(result, self._asked(ticket), self.all_tokens, name=name)
            said = said.with_facts(sandbox=box.protection.receipt())
            if await in_thread(is_short, slot.home):
                said = said.with_facts(disk_full=str(slot.home.parent))
            if result.dispatched:
                said = replace(said, slot=slot.id, due=asdict(slot.write_pending(name, self._title(ticket))))
                await ticket.write_checkpoint(said.charged, said.to_json())
        finally:
            await slot.end_processes()
        return said

    async def _made(self, name: str) -> Result:
        """The result that a call made which an earlier session waited for.

        Raises:
            GitError: it went away.
        """
        self.made.add(name)
        found = await in_thread(result_at, self.workspace.base, ref_name(self.run, name))
        if found is None:
            raise GitError(f"the result {name} went away")
        return found

    async def _generation(self, said: CallCheckpoint, made: Result) -> Generation:
        """Generation by a call, as it is judged.

        Raises:
            AttemptFailure: it failed, or changed nothing that counts.
        """
        kept = await keep(self.workspace.base, self.run, said.name, made.ref, made.commit, self.protection)
        facts = {**said.facts, **(kept.facts() if made.changed else {})}
        if made.refused:
            facts["refused"] = [f"{path_text(path.path)}: {path.reason}" for path in made.refused]
        if said.error is not None:
            failure = said.failure(facts, f"; its work is kept as {made.ref}" if made.changed else "")
            failure.transient = failure.transient or (bool(made.changed) and failure.kind == "context_length")
            raise failure
        if not kept.changed:
            what = (
                f"nothing but protected files ({', '.join(kept.touched)}): see --may-edit"
                if kept.touched
                else f"nothing but what is left out ({'; '.join(facts['refused'][:5])})"
                if made.refused
                else "nothing"
            )
            raise AttemptFailure(f"{self.entry.name} changed {what}", "empty", usage=said.usage, facts=facts)
        return Generation({"tree": kept.tree}, said.usage, (), facts)

    def _put_aside(self, name: str) -> None:
        """Keep the result of an attempt that is about to be made again; where it stood is the place for the new one."""
        repository = self.workspace.repository
        ref = ref_name(self.run, name)
        if (commit := repository.refs(ref).get(ref)) is not None:
            repository.set_ref(salvage_name(self.run, name), commit)
            repository.git().run("update-ref", "-d", ref)

    async def _ask(self, entry: Entry, box: Sandbox[Slot], ticket: Ticket) -> AgentResult:
        """The agent's work, in its earlier session where there is one that can go on."""
        before = ticket.previous.receipt if ticket.previous is not None else {}
        unchanged = ticket.previous is not None and ticket.previous.error is not None
        again, afresh = (UNCHANGED, UNCHANGED_AFRESH) if unchanged else (REPAIR, AFRESH)
        if before:
            if "commit" in before:
                await box.slot.check_out(before["commit"])
            session = before.get("session_id") if entry.can_resume else None
            if session:
                result = await self._call(entry, box, ticket, _filled(again, self.task, ticket.feedback), session)
                if not _is_lost(result):
                    return result
        prompt = _filled(afresh, self.task, ticket.feedback) if before else self.task
        return await self._call(entry, box, ticket, prompt, None)

    async def _call(
        self, entry: Entry, box: Sandbox[Slot], ticket: Ticket, prompt: str, session: str | None
    ) -> AgentResult:
        log = free_log(self.logs, self._name(ticket))
        if box.slot.partial:
            prompt = f"{prompt}\n\n{PARTIAL}"
        return await run_agent(
            entry,
            AgentRequest(
                prompt,
                model=self.model,
                session=session,
                max_usd=self.max_usd,
            ),
            InSandbox(box, self.processes),
            cwd=box.slot.path,
            log=log,
            env={**QUIET, **self.env, "BAKEOFF_ATTEMPT": str(ticket.id)},
            timeout=self.timeout,
            grace=self.grace,
            temp=str(box.slot.temp),
            heard=ticket.heard,
            begins=ticket.begins,
        )


def _filled(template: str, task: str, failures: str) -> str:
    return template.replace("{failures}", failures).replace("{task}", task)


def _is_lost(result: AgentResult) -> bool:
    """Whether a session could not be continued: the CLI gave up before it asked its model anything."""
    return not result.ok and not result.usage and not result.turns and result.kind in ("agent", "output", None)
