"""Slow work: it is said by whoever does it in a thread, to whoever a person is told by."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from bakeoff.engine.events import Events, Warned
from bakeoff.engine.loop import loop_caller

SLOW = 10.0
"""Seconds of waiting after which it is said what is waited for."""

Tell = Callable[[str], object]

_TELL: ContextVar[Tell | None] = ContextVar("tell", default=None)


@contextmanager
def telling(tell: Tell) -> Iterator[None]:
    """While inside, what takes long is said by `tell`, which is called from other threads."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


@contextmanager
def telling_by(events: Events, now: Callable[[], float]) -> Iterator[None]:
    """The same as events of a session, emitted in the event loop that runs now."""
    call = loop_caller()
    with telling(lambda text: call(lambda: events.emit(Warned(now(), text)))):
        yield


@contextmanager
def said_when_slow(text: Callable[[float], str]) -> Iterator[None]:
    """Where what is done inside has not ended after `SLOW` seconds, say so, once.

    Args:
        text: what is to be said, made when it is said, in another thread; given the seconds.
    """
    tell, ended = _TELL.get(), threading.Event()
    if tell is None:
        yield
        return

    def watch() -> None:
        if not ended.wait(SLOW):
            tell(text(SLOW))

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
