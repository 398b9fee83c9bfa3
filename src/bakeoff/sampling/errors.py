"""Errors of models, as sampling takes them: which stop everything, which cost nothing, what a run keeps of them."""

from __future__ import annotations

from typing import Any

from bakeoff.engine.record import Outcome, Status
from bakeoff.model.protocol import ModelError, Usage
from bakeoff.process.command import SpawnError
from bakeoff.sampling.usage import settled
from bakeoff.workspace.errors import NoSpaceError, SlotError
from bakeoff.workspace.full_disk import is_full

PERMANENT = frozenset({"auth", "bad_request", "not_found", "context_length"})
"""Kinds of error that every other attempt would meet, too."""

OWN = frozenset({"bad_request", "context_length"})
"""Kinds of those that an attempt which builds on others may meet alone."""

MACHINERY = frozenset({"spawn", "slots", "space"})
"""Kinds of failure that say nothing of an attempt: no process or slot could be had, or the disk is full.

They are no verdicts: all stops, and a resumed run does again what they kept from being done.
"""

STOPPING = frozenset({"auth", "not_found", "usage_limit"}) | MACHINERY
"""Kinds of failure that everybody else would meet now, too, whatever is asked; another day it may be otherwise."""

FAULTS = (AttributeError, ImportError, NameError, NotImplementedError, SyntaxError, TypeError)
"""Exceptions that a mistake in a program raises, and no model: trying again meets them again."""

UNBILLED = PERMANENT | {"rate_limit", "overload"}
"""Kinds of error by which a request was refused: nothing was generated."""


def machinery(failure: BaseException | None) -> str | None:
    """The kind of `MACHINERY` that a failure is, if it is one."""
    if isinstance(failure, SpawnError) and failure.transient:
        return "spawn"
    if isinstance(failure, SlotError):
        return "slots"
    if isinstance(failure, NoSpaceError) or (failure is not None and is_full(failure)):
        return "space"
    return None


def unbilled(failure: ModelError) -> bool:
    """Whether it is known that the call cost nothing."""
    if failure.refused or failure.unbegun:
        return True
    kinds = PERMANENT if failure.may_have_worked else UNBILLED
    return failure.kind in kinds and failure.usage is None


def charged(usage: Usage | None, failure: ModelError | None = None) -> dict[str, Any]:
    """Charge of a call that used so much, and failed so."""
    free = failure is not None and unbilled(failure)
    none = {"calls": 0} if failure is not None and (failure.refused or failure.unbegun) else {}
    return {**settled(usage), **({"tokens": 0, "usd": 0.0} if free else {}), **none}


def refused(failure: ModelError) -> Outcome:
    """A call that failed; one that every other attempt would fail with aborts, so that a resumed run asks again."""
    kinds = MACHINERY | {"usage_limit"}
    permanent = (failure.kind in PERMANENT and not failure.transient) or failure.kind in kinds
    permanent = permanent or (failure.refused and not failure.transient)
    return Outcome(
        Status.FAILED,
        {"aborted": True, **({"replied": True} if failure.replied else {})} if permanent else {},
        str(failure),
        failure.kind,
        usage=charged(failure.usage, failure),
        facts={
            "retry_after": failure.retry_after,
            "request_id": failure.request_id,
            "status": failure.status,
            **failure.facts,
        },
    )
