"""Makes attempts by coding agents: each works in a slot, and what it made is kept as a commit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.agent.boxing import boxed
from bakeoff.agent.entry import Entry
from bakeoff.agent.runner import AgentRequest, AgentResult, run_agent
from bakeoff.engine.process import Processes
from bakeoff.engine.record import Stored
from bakeoff.judge.protected import Protection
from bakeoff.model.protocol import ModelError, Usage
from bakeoff.report.escape import path_text
from bakeoff.sampling.action import Generation, Ticket
from bakeoff.sampling.attempt.kept import keep
from bakeoff.sampling.errors import machinery
from bakeoff.workspace.blocking import in_thread
from bakeoff.workspace.cone import Cone
from bakeoff.workspace.errors import WorkspaceError, full_disk
from bakeoff.workspace.repository import ref_name
from bakeoff.workspace.running import InSandbox
from bakeoff.workspace.salvage import salvage_name
from bakeoff.workspace.sandbox.sandbox import Sandbox
from bakeoff.workspace.slot import Slot
from bakeoff.workspace.workspace import Workspace

MOST_WORDS = 2000
"""Characters of an agent's last words that stand on the record; all of them are in its transcript."""

REPAIR = """Your work so far does not meet these requirements:
{failures}
It is still in the work tree. Change it so that it meets all of them."""

AFRESH = """{task}

Somebody has tried already, and that work is in the work tree. It does not meet these requirements:
{failures}
Change it so that it meets all of them."""

PARTIAL = """Your work tree has only the folders of the project that this is about. The other files are there all the
same, and stay as they are: `git ls-files` names them, `git show HEAD:PATH` prints one, and
`git sparse-checkout add FOLDER` puts a folder into your work tree.
Only files that you had at the start can be deleted."""
"""What an agent is told besides, whose slot has a part of the files only."""

QUIET = {"PYTHONDONTWRITEBYTECODE": "1"}
"""Keeps the files that Python caches out of a project that does not ignore them."""


class AttemptFailure(ModelError):
    """An attempt made nothing that can be judged; its `facts` name what there is all the same."""

    may_have_worked = True  # an agent asks its model many times

    def __init__(
        self,
        message: str,
        kind: str,
        *,
        usage: Usage | None = None,
        facts: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, kind, usage=usage, retry_after=retry_after)  # type: ignore[arg-type]  # more kinds
        self.facts = dict(facts or {})


LONGEST_PAUSE = 3600.0
"""Seconds that a limited model is waited for; one that asks for more has no more for today."""

_KINDS = {"rate-limit": "rate_limit", "cut-stream": "cut", "missing": "not_found", "output": "agent"}
"""Kinds of an agent's failure that models have by another name."""


@dataclass(slots=True)
class AgentMaker:
    """Has an agent work at a task.

    Attributes:
        entry: the agent.
        task: what it is to do.
        workspace: whose slots it works in.
        processes: runs it.
        protection: what it is judged by.
        run: the run's id.
        logs: folder for transcripts.
        model: None for the agent's own default.
        max_usd: handed to the agent's own cap, where it has one.
        timeout: seconds for one call.
        grace: seconds between TERM and KILL.
        all_tokens: what a call counts that does not say how many tokens it used; None where nobody counts.
        level: what must hold back the agent: `full`, `weak` (what can be had) or `none`.
        resumed: results of an earlier session may be there that no record names.
        cone: the files that it is to have in its slot where that may be sparse; None for all.
        label: what the names of its results and log files begin with.
        env: further variables for it.
        made: names of results that were made.
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
    cone: Cone | None = None
    label: str = ""
    env: Mapping[str, str | None] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)

    async def make(self, attempt: Ticket) -> Generation:
        """Let the agent work, and keep what it made.

        Its output is the judged `tree` alone, so that equal trees are judged once; its facts name commits, session,
        transcript and diff. Cancelled, the agent has ended and its work is salvaged before this returns.

        Raises:
            AttemptFailure: the agent failed, or changed nothing that counts; or there was no slot, process or room.
            OSError: whatever else the system refuses.
        """
        try:
            async with self.workspace.lease(self.cone) as slot:
                return await self._work(slot, attempt)
        except WorkspaceError as failure:
            kind = str(machinery(failure) or getattr(failure, "kind", "workspace"))
            raise AttemptFailure(str(failure), kind, facts={"salvaged": self._saved()}) from failure
        except OSError as failure:
            if (broken := machinery(failure)) is None:
                raise
            said = full_disk(failure) if broken == "space" else str(failure)
            raise AttemptFailure(said, broken, facts={"salvaged": self._saved()}) from failure

    def _saved(self) -> list[str]:
        return list(self.workspace.salvaged)

    async def _work(self, slot: Slot, ticket: Ticket) -> Generation:
        name = f"{self.label}attempt-{ticket.id}"
        if self.resumed or name in self.made:
            await in_thread(self._put_aside, name)
        self.made.add(name)
        entry, box = await boxed(self.entry, slot, self.level)
        try:
            result = await self._ask(entry, box, ticket)
        finally:
            await slot.end_processes()
        made = await slot.commit(name, f"{self.label}attempt {ticket.id} by {self.entry.name}, run {self.run}")
        snapshot, repository = self.workspace.snapshot, self.workspace.repository
        kept = await keep(repository, snapshot, self.run, name, made.ref, made.commit, self.protection)
        usage = usage_of(result, self.all_tokens)
        facts = facts_of(result) | {"sandbox": box.protection.receipt()} | (kept.facts() if made.changed else {})
        if made.refused:
            facts["refused"] = [f"{path_text(path.path)}: {path.reason}" for path in made.refused]
        if not result.ok:
            raise failed(result, usage, facts, f"; its work is kept as {made.ref}" if made.changed else "")
        if not kept.changed:
            what = (
                f"nothing but protected files ({', '.join(kept.touched)}): see --may-edit"
                if kept.touched
                else f"nothing but what is left out ({'; '.join(facts['refused'][:5])})"
                if made.refused
                else "nothing"
            )
            raise AttemptFailure(f"{self.entry.name} changed {what}", "empty", usage=usage, facts=facts)
        return Generation({"tree": kept.tree}, usage, (), facts)

    def _put_aside(self, name: str) -> None:
        """Keep the result of an attempt that ended, but whose end was not recorded: it is about to be made again."""
        repository = self.workspace.repository
        ref = ref_name(self.run, name)
        for found, commit in repository.refs(ref).items():
            if found == ref:
                repository.set_ref(salvage_name(self.run, name), commit)

    async def _ask(self, entry: Entry, box: Sandbox[Slot], ticket: Ticket) -> AgentResult:
        """The agent's work, in its earlier session where there is one that can go on."""
        before = ticket.previous.receipt if ticket.previous is not None else {}
        if before:
            await box.slot.check_out(before["commit"])
            session = before.get("session_id") if entry.can_resume else None
            if session:
                result = await self._call(entry, box, ticket, _filled(REPAIR, self.task, ticket.feedback), session)
                if not _is_lost(result):
                    return result
        prompt = _filled(AFRESH, self.task, ticket.feedback) if before else self.task
        return await self._call(entry, box, ticket, prompt, None)

    async def _call(
        self, entry: Entry, box: Sandbox[Slot], ticket: Ticket, prompt: str, session: str | None
    ) -> AgentResult:
        log = free_log(self.logs, f"{self.label}attempt-{ticket.id}")
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
        )


def _filled(template: str, task: str, failures: str) -> str:
    return template.replace("{failures}", failures).replace("{task}", task)


def _is_lost(result: AgentResult) -> bool:
    """Whether a session could not be continued: the CLI gave up before it asked its model anything."""
    return not result.ok and not result.usage and not result.turns and result.kind in ("agent", "output", None)


def free_log(logs: Path, name: str) -> str:
    """Where the transcript of a call goes: a name that no earlier call has taken."""
    log, number = str(logs / name), 1
    while os.path.exists(f"{log}.out"):
        number += 1
        log = str(logs / f"{name}.{number}")
    return log


def failed(
    result: AgentResult, usage: Usage | None, facts: Mapping[str, Any] | None = None, said: str = ""
) -> AttemptFailure:
    """What an agent's failure is to a sampling; `said` is put after its message."""
    kind = _KINDS.get(result.kind or "agent", result.kind or "agent")
    pause = result.retry_after
    if pause is not None and pause > LONGEST_PAUSE:
        kind, pause = "usage_limit", None
    return AttemptFailure(f"{result.error}{said}", kind, usage=usage, facts=facts, retry_after=pause)


def usage_of(result: AgentResult, all_tokens: int | None) -> Usage | None:
    """What a call used; `all_tokens` where it does not say how many tokens, None where nobody counts."""
    known = result.usage or {}
    tokens = known.get("input_tokens"), known.get("output_tokens")
    if not result.dispatched and result.exit_code == 1 and not result.argv:
        return Usage(0, 0, usd=0.0)
    if tokens == (None, None):
        if all_tokens is not None:
            return Usage(all_tokens, 0, usd=result.usd)
        return None if result.usd is None else Usage(usd=result.usd)
    return Usage(*tokens, known.get("cached_input_tokens"), result.usd)


def facts_of(result: AgentResult) -> dict[str, Any]:
    """What is kept of a call."""
    text = result.text.excerpt if isinstance(result.text, Stored) else result.text
    found = {
        "agent": result.agent,
        "session_id": result.session_id,
        "turns": result.turns,
        "evidence": result.evidence,
        "text": text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS]}...",
        "seconds": round(result.seconds, 3),
        "capped": result.capped,
        "transcript": None
        if result.stdout is None or result.stdout.path is None
        else os.path.basename(result.stdout.path),
    }
    return {name: value for name, value in found.items() if value is not None}
