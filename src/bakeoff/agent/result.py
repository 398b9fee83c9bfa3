"""Result of an agent's call: whether it succeeded, by which evidence, and of which kind a failure is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bakeoff.agent.clis import event_format
from bakeoff.agent.cost import cost_of
from bakeoff.agent.entry import Entry
from bakeoff.agent.events import LINE_LIMIT, EventFormat, Reading
from bakeoff.agent.failures import LIMITED, error_lines, kind_of, one_line, pause_of
from bakeoff.engine.record import Outcome, Status, Stored
from bakeoff.process.command import Command, Finished, Output


@dataclass(frozen=True, slots=True)
class AgentResult:
    """Outcome of an agent's work.

    Attributes:
        ok: whether it succeeded, by `evidence`.
        text: its last words; `Stored` where a CLI that prints plain text printed much.
        exit_code: of the process; 1 when it was not started.
        dispatched: whether a process was started, and ended under our eyes.
        unbegun: whether it is certain that none was started.
        stdout: raw standard output, None when not started; `stderr` likewise.
        usage: tokens by `events.USAGE_KEYS`, None where unknown.
        usd: cost in USD, None where unknown, never 0 for that.
        evidence: `final-event`, `exit-status` or `none` (not started, or no final event from a CLI that has one).
        error: one line for a person, and its `kind` (one of `failures.KINDS`), when not ok.
        retry_after: seconds after which it says that trying again may help.
        capped: whether the CLI was given a ceiling of money.
    """

    agent: str
    ok: bool
    text: str | Stored = ""
    exit_code: int = 1
    argv: tuple[str, ...] = ()
    dispatched: bool = False
    unbegun: bool = False
    stdout: Output | None = None
    stderr: Output | None = None
    usage: Mapping[str, int] | None = None
    usd: float | None = None
    session_id: str | None = None
    turns: int | None = None
    evidence: str = "none"
    error: str | None = None
    kind: str | None = None
    retry_after: float | None = None
    capped: bool = False
    seconds: float = 0.0
    ended_by: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def uncharged(self) -> bool:
        """Whether no call was made: nothing was started, or nobody listened where its model was to be."""
        return self.unbegun or (self.kind == "connection" and self.usage is None)

    def outcome(self, output: Mapping[str, Any] | None = None, given: Mapping[str, Any] | None = None) -> Outcome:
        """The same as a node's outcome; `output` is put in front of the fields every agent step has.

        `stdout` is what the agent said, as its plain-text mode would print it; its events are in the log.
        """
        usage = {**(self.usage or {}), **({} if self.usd is None else {"usd": self.usd})}
        facts = {
            "agent": self.agent,
            "evidence": self.evidence,
            "session_id": self.session_id,
            "turns": self.turns,
            "argv": list(self.argv),
            "retry_after": self.retry_after,
            **self.facts,
        }
        return Outcome(
            status=Status.COMPLETED if self.ok else Status.FAILED,
            output={
                **(output or {}),
                "exit_code": self.exit_code,
                "stdout": self.text,
                "stderr": self.stderr.value if self.stderr else "",
                "text": self.text,
                "session_id": self.session_id,
                "dispatched": self.dispatched,
                "timed_out": self.ended_by == "timeout",
            },
            error=self.error,
            kind=self.kind,
            input=given or {},
            usage=usage or None,
            facts={name: value for name, value in facts.items() if value is not None},
        )


def judge(
    entry: Entry,
    model: str | None,
    command: Command,
    finished: Finished,
    reading: Reading,
    capped: bool,
) -> AgentResult:
    """The result of a call that ended: by its final event where the CLI has one, else by its exit status."""
    form, printed = event_format(entry.events), finished.stdout.value
    text: str | Stored = reading.text if form.has_final else printed
    error, kind = _failure(entry, form, finished, reading, text, command.timeout)
    if error is not None and _was_refused_a_write(form, finished, reading):
        error += "; sandboxed, it writes to its slot and TMPDIR: name what else it needs in `writes` (docs/sandbox.md)"
    told = [error or "", *reading.warnings[-1:], _own_words(finished.stderr.value)] if kind in LIMITED else []
    if form.has_final:
        evidence = "final-event" if reading.succeeded is not None else "none"
    else:
        evidence = "exit-status"
    return AgentResult(
        agent=entry.name,
        ok=error is None,
        text=text,
        exit_code=finished.exit_code,
        argv=tuple(command.argv),
        dispatched=True,
        stdout=finished.stdout,
        stderr=finished.stderr,
        usage=reading.usage,
        usd=cost_of(entry, model, reading.usage) if reading.usd is None else reading.usd,
        session_id=reading.session_id,
        turns=reading.turns,
        evidence=evidence,
        error=error,
        kind=kind,
        retry_after=next(filter(None, map(pause_of, told)), None),
        capped=capped,
        seconds=finished.seconds,
        ended_by=finished.ended_by,
    )


def _failure(
    entry: Entry, form: EventFormat, finished: Finished, reading: Reading, text: str | Stored, timeout: float | None
) -> tuple[str | None, str | None]:
    """Why it is no success, and of which kind; (None, None) for a success."""
    if finished.ended_by == "timeout":
        last = f"; the last trouble it told of: {reading.warnings[-1]}" if reading.warnings else ""
        return one_line(f"{entry.name} was ended after {timeout:g} s, its timeout{last}"), "timeout"
    if finished.ended_by is not None:
        return f"{entry.name} was ended early: {finished.ended_by}", "output"
    told = [*filter(None, [reading.error]), *reversed(reading.warnings)]
    printed = _printed(form, finished, reading)
    said = [*told, tail_of(finished.stderr.value), printed]
    # Of what was printed beside the events only the CLI's own error lines tell of a kind: its tools print there, too.
    own = [*told, _own_words(finished.stderr.value), error_lines(printed)]
    sort = reading.kind or next(filter(None, map(kind_of, own)), None)
    reason = next((_last_line(words) for words in said if words.strip()), "")
    if reading.succeeded is False:
        told_why = reading.error or reason or "it says that it failed, and not why"
        return one_line(f"{entry.name}: {told_why}"), sort or "agent"
    because = f": {reason}" if reason else ""
    if finished.exit_code != 0:
        return one_line(f"{entry.name} exited with code {finished.exit_code}{because}"), sort or "agent"
    if form.has_final and reading.succeeded is None:
        fallback = "cut-stream" if reading.heard else "agent"
        return one_line(f"{entry.name} exited with code 0 but without its final event{because}"), sort or fallback
    if reading.uncalled:
        words = text if isinstance(text, str) else text.excerpt
        return one_line(f"{entry.name} called no model (0 turns, 0 tokens): {words or reason}".rstrip(": ")), "agent"
    if isinstance(text, str) and not text.strip():
        if reading.dropped:
            most = LINE_LIMIT >> 20
            return f"{entry.name}: it said more in one line than the {most} MiB that are read of one", "output"
        wanted = "" if entry.known or because else ", which counts as failed: let its program print what it did"
        return one_line(f"{entry.name} ended without saying anything{because or wanted}"), sort or "agent"
    return None, None


def _was_refused_a_write(form: EventFormat, finished: Finished, reading: Reading) -> bool:
    """Whether a failed call tells of a place that its sandbox shows read-only."""
    told = (reading.error or "", *reading.warnings, tail_of(finished.stderr.value), _printed(form, finished, reading))
    return any(_READ_ONLY.search(text) for text in told)


def _printed(form: EventFormat, finished: Finished, reading: Reading) -> str:
    """The end of what was printed besides events."""
    return tail_of(finished.stdout.value) if form.from_artifact or not form.has_final else reading.stray


_READ_ONLY = re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE)


def tail_of(value: str | Stored, limit: int = 16_384) -> str:
    """The last characters of an output."""
    return (value if isinstance(value, str) else value.excerpt)[-limit:]


def _own_words(stderr: str | Stored) -> str:
    """Error lines of a CLI's standard error, and its last line."""
    text = tail_of(stderr)
    return f"{error_lines(text)}\n{_last_line(text) if text.strip() else ''}"


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1]
