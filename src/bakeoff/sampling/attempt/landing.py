"""Attempts as work that can be shown and landed: the one that is named, or the winner."""

from __future__ import annotations

from bakeoff.errors import BakeoffError
from bakeoff.jobs.landing import Work, title_of
from bakeoff.report.words import has_no_winner
from bakeoff.sampling.attempt.view import AttemptView, RunView


def work_of(run: str, found: RunView, view: AttemptView, step: str | None = None) -> Work:
    """Work that an attempt of a run, or of a workflow's `step` in it, made."""
    return Work(run, view.status, view.facts, title_of(found.options.task), view.id, step)


def chosen(found: RunView, whose: str, number: int | None) -> AttemptView:
    """The attempt of that id, or the winner; `whose` says where, for people.

    Raises:
        BakeoffError: there is none, or it made nothing.
    """
    if number is None and found.winner is None:
        hint = f"; name one, for example {found.closest}" if found.closest is not None else ""
        raise BakeoffError(f"{has_no_winner(whose, found.status)}{hint}")
    view = found.attempts.get(found.winner if number is None else number)  # type: ignore[arg-type]
    if view is None:
        known = ", ".join(map(str, found.attempts)) or "none"
        raise BakeoffError(f"{whose} has no attempt {number}; there are: {known}")
    if "judged" not in view.facts:
        raise BakeoffError(f"attempt {view.id} of {whose} made nothing: {view.error or 'it did not end'}")
    return view


def attempt_number(where: tuple[str, ...]) -> int | None:
    """The attempt that is named; None where none is.

    Raises:
        BakeoffError: it is no number.
    """
    if not where:
        return None
    if not where[0].isdecimal():
        raise BakeoffError(f"{where[0]!r} is no number of an attempt")
    return int(where[0])
