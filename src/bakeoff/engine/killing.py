"""Killing by a second Ctrl-C or TERM: it ends at once, also work that a cancelled run is still let finish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Kills:
    """Callbacks that end the work of one session without grace; from the event loop's thread only."""

    def __init__(self) -> None:
        self._asked = False
        self._calls: set[Callable[[], None]] = set()

    def kill_now(self) -> None:
        """Call all there are, and from now on each that comes."""
        self._asked = True
        for call in list(self._calls):
            call()

    @contextmanager
    def calling(self, call: Callable[[], None]) -> Iterator[None]:
        """While inside, `call` is called when the work is to end at once; right away if that was asked before."""
        self._calls.add(call)
        try:
            if self._asked:
                call()
            yield
        finally:
            self._calls.discard(call)


_KILLS: ContextVar[Kills | None] = ContextVar("bakeoff_kills", default=None)


def current_kills() -> Kills:
    """Those of the session that the current task works for; outside of any, some that nobody asks for."""
    return _KILLS.get() or Kills()


@contextmanager
def session_kills() -> Iterator[Kills]:
    """New ones, for all tasks that are started inside."""
    kills = Kills()
    token = _KILLS.set(kills)
    try:
        yield kills
    finally:
        _KILLS.reset(token)
