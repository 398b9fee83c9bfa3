"""One call of a model: what it may use, and how it is let go of when nobody wants the answer any more."""

from __future__ import annotations

import anyio

from bakeoff.engine.failures import is_cancel
from bakeoff.model.protocol import Model, Reply, Request

GRACE = 5.0
"""Seconds in which a model must have let go of a request."""

_BYTES_PER_TOKEN = 3
_OVERHEAD = 4
"""Tokens that a message costs besides its text."""


async def ask(model: Model, request: Request, not_stopped: list[str]) -> Reply:
    """The model's reply. Cancelled, the request is closed before this returns, or stands in `not_stopped`.

    Passes on ModelError: the call failed.
    """
    try:
        return await model.generate(request)
    except anyio.get_cancelled_exc_class() as failure:
        if is_cancel(failure):
            await _let_go(model, request, not_stopped)
        raise


async def _let_go(model: Model, request: Request, not_stopped: list[str]) -> None:
    """See to the end of work that a model has detached from its call."""
    cancel = getattr(model, "cancel", None)
    if not getattr(model, "detached", cancel is not None):
        return
    if cancel is None:
        not_stopped.append(f"{_name(model)} detaches its requests and offers no cancel")
        return
    with anyio.move_on_after(GRACE, shield=True) as scope:
        try:
            await cancel(request)
        except Exception as failure:
            not_stopped.append(f"{_name(model)} could not cancel a request: {type(failure).__name__}: {failure}")
    if scope.cancelled_caught:
        not_stopped.append(f"{_name(model)} did not cancel a request within {GRACE:g} s")


def _name(model: Model) -> str:
    return str(getattr(model, "name", type(model).__name__))


def most_tokens(request: Request) -> float:
    """Tokens of a request at most: its input, estimated from its length, and `max_tokens`; infinite without."""
    if request.max_tokens is None:
        return float("inf")
    texts = [message.content for message in request.messages] + ([request.prompt] if request.prompt else [])
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return -(-size // _BYTES_PER_TOKEN) + _OVERHEAD * len(texts) + request.max_tokens
