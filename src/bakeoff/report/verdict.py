"""Verdict of a run, the first thing on its page: a sentence, why, time and cost, and the command to go on with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.engine.history import History
from bakeoff.engine.record import RunStatus
from bakeoff.engine.store import RunFolder
from bakeoff.report.escape import markup, one_line
from bakeoff.report.outline import Node, tally
from bakeoff.report.words import amounts, counted, duration

WON, PART, NONE, FAILED, WAITS, OPEN = "won", "part", "none", "failed", "waits", "open"
"""The kinds: a result, part of one, none; a run that ended badly, that waits, that goes on."""

_SIGNS = {WON: "✓", PART: "◐", NONE: "○", FAILED: "✗", WAITS: "?", OPEN: "▶"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a run, in words that are not escaped.

    Attributes:
        kind: one of the kinds above.
        words: one sentence.
        why: more of them, as many as are needed.
        lands: whether the run made something that `bakeoff apply` takes over.
        go_on: a command that may lead further, where there is no result.
    """

    kind: str
    words: str
    why: tuple[str, ...] = ()
    lands: bool = False
    go_on: str | None = None


def banner(verdict: Verdict, folder: RunFolder, history: History) -> Iterator[str]:
    """The verdict as the page shows it."""
    yield f'<section class="verdict {verdict.kind}" aria-label="Verdict"><p class="words">'
    yield f'<span class="sign" aria-hidden="true">{_SIGNS[verdict.kind]}</span>{markup(verdict.words)}</p>'
    yield "".join(f"<p>{markup(text)}</p>" for text in verdict.why)
    if history.damaged:
        yield f'<p class="caution">{counted(len(history.damaged), "entry")} of the journal cannot be read: '
        yield "what they held is missing here.</p>"
    took = history.active_seconds or max(0.0, history.updated_at - float(history.meta.get("created_at") or 0.0))
    cost = amounts(history.usage, history.unreported) or "nothing that is paid for"
    yield f"<dl><div><dt>took<dd>{duration(took)}</div><div><dt>used<dd>{markup(cost)}</div></dl>"
    if verdict.lands:
        yield f"<p>See it, and take it over:</p><pre>bakeoff diff {markup(folder.id)}\n"
        yield f"bakeoff apply {markup(folder.id)}</pre>"
    elif verdict.go_on is not None:
        yield f"<p>Go on with:</p><pre>{markup(verdict.go_on)}</pre>"
    yield "</section>\n"


def verdict_of(
    folder: RunFolder,
    history: History,
    status: RunStatus,
    error: str | None,
    nodes: list[Node],
    go_on: str | None,
) -> Verdict:
    """The verdict on a run whose job has none of its own: it did all its steps, or why not, and how to go on."""
    gate = history.ending.get("gate")
    match status:
        case RunStatus.COMPLETED:
            return Verdict(WON, f"Completed: {_done(nodes)}.")
        case RunStatus.RUNNING:
            return Verdict(OPEN, f"Still running: {_done(nodes)} so far.")
        case RunStatus.PAUSED if gate:
            return _waiting(folder, gate)
    word = status.value.replace("_", " ").capitalize()
    words = f"{word}: {one_line(error, 400)}" if error else f"{word}, before all was done."
    kind = WAITS if status in (RunStatus.PAUSED, RunStatus.CREATED, RunStatus.CANCELLED) else FAILED
    return Verdict(kind, words, (f"{_done(nodes).capitalize()}.",), go_on=go_on)


def _done(nodes: list[Node]) -> str:
    """Count of the steps that are done, and how the others stand."""
    counts = dict(tally(nodes))
    done = counts.pop("completed", 0)
    if not counts:
        return f"{counted(done, 'step')} done"
    others = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    return f"{done:,} of {counted(len(nodes), 'step')} done, {others}"


def _waiting(folder: RunFolder, gate: Mapping[str, Any]) -> Verdict:
    options = " / ".join(map(str, gate.get("options", ())))
    step = gate.get("step_id")
    words = f"Waits for an answer at {step}: {one_line(str(gate.get('message')), 400)}"
    answer = f"bakeoff answer {folder.id} {step} CHOICE\nbakeoff resume {folder.id}"
    return Verdict(WAITS, words, (f"CHOICE is one of: {options}",) if options else (), go_on=answer)
