"""Lines that stay on standard error, and on a terminal what goes on right now below them."""

from __future__ import annotations

import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

import anyio

from bakeoff.cli.opening import fail
from bakeoff.cli.say import say
from bakeoff.engine.events import Event, Events, NodeHeard
from bakeoff.errors import the_failure
from bakeoff.report.escape import one_line
from bakeoff.report.words import duration

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from rich.live import Live
    from rich.text import Text

Result = TypeVar("Result")

EVERY = 0.125
"""Seconds between two drawings."""


class Display(Protocol):
    """Shows what goes on."""

    def drawn(self) -> AbstractAsyncContextManager[None]:
        """Keep it up to date while the context is open."""


def run_session(session: Callable[[], Awaitable[Result]], display: Display | None) -> Result:
    """Run a session under a display; a failure that is no fault of ours is said, and ends the program."""

    async def shown() -> Result:
        if display is None:
            return await session()
        async with display.drawn():
            return await session()

    try:
        return anyio.run(shown)
    except Exception as raised:
        failure = the_failure(raised)
        if failure is None:
            raise
        fail(failure)


def heard_of(event: NodeHeard | None, now: float) -> str:
    """When a node at work was last heard of, by the wall clock, and what it has told; empty where it was not."""
    if event is None:
        return ""
    tokens = event.facts.get("tokens")
    return f", heard of {duration(max(0.0, now - event.at))} ago" + (f", {tokens:,} tokens" if tokens else "")


class Lines(ABC):
    """Says what happens, and draws what goes on.

    Args:
        events: what happens.
    """

    def __init__(self, events: Events) -> None:
        self.mask = events.mask_text
        self.began = time.monotonic()
        self.on_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._live: Live | None = None
        events.subscribe(self)

    @abstractmethod
    def __call__(self, event: Event) -> None:
        """Say what there is to say of an event."""

    @abstractmethod
    def _now(self, room: int) -> Text:
        """What goes on now, in at most `room` lines."""

    def _say(self, text: str) -> None:
        line = one_line(self.mask(text), 400)
        if self._live is None:
            say(line)
        else:
            self._live.console.print(line, markup=False, highlight=False)

    @asynccontextmanager
    async def drawn(self) -> AsyncIterator[None]:
        """Keep the display up to date while the context is open."""
        if not self.on_terminal:
            yield
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._draw)
            try:
                yield
            finally:
                group.cancel_scope.cancel()

    async def _draw(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False,
                          redirect_stderr=False, vertical_overflow="crop")  # fmt: skip
        try:
            with self._live:
                while True:
                    self._live.update(self._now(console.height - 2), refresh=True)
                    await anyio.sleep(EVERY)
        except OSError:  # the terminal is gone
            pass
        finally:
            self._live = None
