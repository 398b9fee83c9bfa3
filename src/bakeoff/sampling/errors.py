"""Errors of models, as sampling takes them: which stop everything, which cost nothing, what a run keeps of them."""

from __future__ import annotations

from bakeoff.engine.record import Outcome, Status
from bakeoff.model.protocol import ModelError
from bakeoff.sampling.usage import settled

PERMANENT = frozenset({"auth", "bad_request", "not_found", "context_length"})
"""Kinds of error that every other attempt would meet, too."""

OWN = frozenset({"bad_request", "context_length"})
"""Kinds of those that an attempt which builds on others may meet alone."""

UNBILLED = PERMANENT | {"rate_limit", "overload"}
"""Kinds of error by which a request was refused: nothing was generated."""


def unbilled(failure: ModelError) -> bool:
    """Whether it is known that the call cost nothing."""
    kinds = PERMANENT if failure.may_have_worked else UNBILLED
    return failure.kind in kinds and failure.usage is None


def refused(failure: ModelError) -> Outcome:
    """A call that failed; one that every other attempt would fail with aborts, so that a resumed run asks again."""
    permanent = failure.kind in PERMANENT and not failure.transient
    return Outcome(
        Status.FAILED,
        {"aborted": True} if permanent else {},
        str(failure),
        failure.kind,
        usage={**settled(failure.usage), **({"tokens": 0, "usd": 0.0} if unbilled(failure) else {})},
        facts={
            "retry_after": failure.retry_after,
            "request_id": failure.request_id,
            "status": failure.status,
            **failure.facts,
        },
    )
