"""Feedback of a failed attempt to the next one, and which of several failures is the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from bakeoff.judge.verdict import INVALID, SKIPPED
from bakeoff.model.protocol import Message, Request
from bakeoff.sampling.result import Attempt


def feedback(requirements: Sequence[Any], attempt: Attempt) -> str:
    """Feedback on an attempt: a line for each requirement that it does not meet, in the given order, or its error."""
    if attempt.error is not None:
        return f"- {attempt.error.message}"
    lines = []
    for requirement, verdict in zip(requirements, attempt.verdicts, strict=True):
        if verdict.result or verdict.error == SKIPPED:
            continue
        if verdict.error is not None and verdict.error != INVALID:
            lines.append(f"- could not be judged: {requirement.description}")
        elif verdict.reason and verdict.reason != requirement.description:
            lines.append(f"- {requirement.description}: {verdict.reason}")
        else:
            lines.append(f"- {requirement.description}")
    return "\n".join(lines)


def with_last(request: Request, text: str) -> Request:
    """The request with `text` put after its last message, or after its prompt."""
    if request.messages:
        *before, last = request.messages
        return replace(request, messages=(*before, Message(last.role, f"{last.content}\n\n{text}")))
    return replace(request, prompt=f"{request.prompt or ''}\n\n{text}")


def with_turns(request: Request, answer: str, text: str) -> Request:
    """The request with its answer and another message behind it."""
    if request.messages:
        turns = (Message("assistant", answer), Message("user", text))
        return replace(request, messages=(*request.messages, *turns))
    return replace(request, prompt=f"{request.prompt or ''}{answer}\n\n{text}\n\n")


def best_failure(attempts: Iterable[Attempt]) -> Attempt | None:
    """Of judged attempts the one with most requirements met; then one that could be judged, the highest score, id."""
    judged = [attempt for attempt in attempts if attempt.judged]

    def order(attempt: Attempt) -> tuple[int, bool, float, int]:
        return -attempt.met, not attempt.near, -(attempt.score or 0.0), attempt.id

    return min(judged, key=order, default=None)
