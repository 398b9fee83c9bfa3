"""Checkpoint of an agent's call, on record before its work is taken: its ending, its usage, what is known of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bakeoff.agent.result import AgentResult
from bakeoff.engine.history import History
from bakeoff.engine.record import Stored
from bakeoff.model.protocol import ModelError, Usage
from bakeoff.sampling.errors import charged
from bakeoff.workspace.results.pending_commit import PendingCommit

MOST_WORDS = 2000
"""Characters of an agent's last words that stand on the record; all of them are in its transcript."""


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

MODEL_KINDS = {
    "rate-limit": "rate_limit",
    "context-length": "context_length",
    "cut-stream": "cut",
    "missing": "not_found",
    "output": "agent",
}
"""Kinds of an agent's failure that models have by another name."""


@dataclass(frozen=True, slots=True)
class CallCheckpoint:
    """Checkpoint of a call. All of it can be written down, so that a resumed run goes on from there.

    Attributes:
        asked: digest of what it was asked, and on what.
        text: its last words, all of them; empty where they are not needed.
        usage: what it used, None where nobody counts.
        facts: what is kept of it.
        error: why it is no success, its `kind` and the seconds after which trying again may help.
        name: of the result that is made of its slot; empty where none is.
        unbegun: whether no process was started for it.
        slot, due: where that stands until it is made, and what is needed to make it.
    """

    asked: str
    text: str
    usage: Usage | None
    facts: Mapping[str, Any]
    error: str | None = None
    kind: str | None = None
    retry_after: float | None = None
    name: str = ""
    unbegun: bool = False
    slot: str = ""
    due: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls, result: AgentResult, asked: str, all_tokens: int | None, *, name: str = "", words: bool = False
    ) -> CallCheckpoint:
        """The checkpoint of a call that ended.

        Args:
            result: how it ended.
            asked: see above.
            all_tokens: what counts where it does not say how many tokens it used; None where nobody counts.
            name: see above.
            words: whether its last words are needed.

        Passes on OutputLostError: its words were kept in a file that is gone.
        """
        text = "" if not words else str(result.text.load()) if isinstance(result.text, Stored) else result.text
        error, kind, pause = (None, None, None) if result.ok else _trouble(result)
        return cls(
            asked, text, usage_of(result, all_tokens), facts_of(result), error, kind, pause, name, result.unbegun
        )

    def failure(self, facts: Mapping[str, Any] | None = None, said: str = "") -> AttemptFailure:
        """Its failure as a sampler takes it; `said` is put after its message."""
        kind = self.kind or "agent"
        text, pause = f"{self.error}{said}", self.retry_after
        failure = AttemptFailure(text, kind, usage=self.usage, facts=facts, retry_after=pause)
        failure.unbegun = self.unbegun
        # Nobody listens where its model is to be. A CLI that was heard there before had only lost its connection.
        failure.refused = kind == "connection" and not self.worked
        failure.transient = failure.transient and not failure.refused
        if kind == "context_length" and self.worked:  # its conversation grew, and another's may not
            failure.transient = True
        return failure

    @property
    def worked(self) -> bool:
        """Whether the agent's model is known to have done something."""
        used = self.usage is not None and bool(self.usage.input_tokens or self.usage.output_tokens)
        return used or (self.facts.get("turns") or 0) > 1

    @property
    def charged(self) -> dict[str, Any]:
        """Its charge, as the outcome of the node will have it."""
        return charged(self.usage, None if self.error is None else self.failure())

    def with_facts(self, **more: Any) -> CallCheckpoint:
        """The same with further facts."""
        return replace(self, facts={**self.facts, **more})

    def to_json(self) -> dict[str, Any]:
        """As a run keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> CallCheckpoint:
        """The checkpoint that `to_json` gave."""
        usage = kept["usage"]
        return cls(**{**kept, "usage": None if usage is None else Usage(**usage)})


def pending_commits(history: History) -> dict[str, PendingCommit]:
    """Results of calls that ended before a run was cut off, by the slot in which they may still stand."""
    notes = (reply.facts for reply in history.checkpoints.values())
    return {note["slot"]: PendingCommit(**note["due"]) for note in notes if note.get("slot") and note.get("due")}


def digest(*parts: str) -> str:
    """A digest of what a call is asked, part by part."""
    text = "".join(f"{len(part)}\0{part}" for part in parts)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _trouble(result: AgentResult) -> tuple[str, str, float | None]:
    kind = MODEL_KINDS.get(result.kind or "agent", result.kind or "agent")
    pause = result.retry_after
    if pause is not None and pause > LONGEST_PAUSE:
        kind, pause = "usage_limit", None
    return str(result.error), kind, pause


def usage_of(result: AgentResult, all_tokens: int | None) -> Usage | None:
    """Usage of a call; `all_tokens` count where it does not say how many tokens, None where nobody counts."""
    known = result.usage or {}
    tokens = known.get("input_tokens"), known.get("output_tokens")
    if not result.dispatched and result.exit_code == 1 and not result.argv:
        return Usage(0, 0, usd=0.0)
    if tokens == (None, None):
        return None if result.usd is None and all_tokens is None else Usage(usd=result.usd, assumed_tokens=all_tokens)
    return Usage(*tokens, known.get("cached_input_tokens"), result.usd)


def facts_of(result: AgentResult) -> dict[str, Any]:
    """Facts that are kept of a call."""
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


def free_log(logs: Path, name: str) -> str:
    """Name for the transcript of a call that no earlier call has taken."""
    log, number = str(logs / name), 1
    while os.path.exists(f"{log}.out"):
        number += 1
        log = str(logs / f"{name}.{number}")
    return log
