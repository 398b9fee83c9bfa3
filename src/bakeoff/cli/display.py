"""Display of a run on standard error: lines that stay, and on a terminal what goes on right now below them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeVar

import anyio

from bakeoff.cli.output import covered, say
from bakeoff.engine.events import Event, Events
from bakeoff.errors import the_failure
from bakeoff.report.escape import one_line, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from bakeoff.jobs.progress import Progress, Row

Result = TypeVar("Result")

EVERY = 0.125
"""Seconds between two drawings, at least."""

SHARE = 0.04
"""Of one processor's time, what drawing may use: a slow terminal is drawn to less often."""


def run_session(session: Callable[[], Awaitable[Result]], display: Display | None) -> Result:
    """Run a session under a display. Passes on BakeoffError: what failed that is no fault of ours, also in a group."""

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
        raise failure from None


class Display:
    """Display of what happens: plain lines in logs and pipes; on a terminal drawn by a task of the run's own loop.

    Args:
        events: what happens.
        progress: what is said of it.
        console: where to draw; standard error if left out and a terminal, else nothing is drawn.
    """

    def __init__(self, events: Events, progress: Progress, console: Console | None = None) -> None:
        self.mask: Callable[[str], str] = lambda text: covered(events.mask_text(text))
        self.progress = progress
        self.console = console or _terminal()
        progress.on_terminal, progress.mask = self.console is not None, self.mask
        self._live: Live | None = None
        self._away = 0
        events.subscribe(self)

    def __call__(self, event: Event) -> None:
        """Say what there is to say of an event; the rest is drawn with the next frame."""
        for text in self.progress.told(event):
            text = self.mask(text)
            line = visible(text) if text.startswith("    ") else one_line(text, 400)
            if self.console is None:
                say(line)
            else:
                from rich.text import Text

                self.console.print(Text(line, self.progress.styles.get(line[:1], "")))

    @asynccontextmanager
    async def drawn(self) -> AsyncIterator[None]:
        """Keep the display up to date while the context is open."""
        if self.console is None:
            yield
            return
        async with anyio.create_task_group() as group:
            group.start_soon(self._draw, self.console)
            try:
                yield
            finally:
                group.cancel_scope.cancel()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Leave the terminal to somebody else for the while."""
        self._away += 1
        self._hide()
        try:
            yield
        finally:
            self._away -= 1

    async def _draw(self, console: Console) -> None:
        """Draw until cancelled. A terminal that is gone is let be."""
        try:
            while True:
                spent = self._frame(console)
                await anyio.sleep(max(EVERY, spent / SHARE))
        except OSError:
            self._live = None
        finally:
            self._finish(console)

    def _frame(self, console: Console) -> float:
        if self._away:
            return 0.0
        since = time.perf_counter()
        if self._live is None:
            from rich.live import Live

            self._live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False,
                              redirect_stderr=False, vertical_overflow="crop")  # fmt: skip
            self._live.start()
        self._live.update(_text(self.progress.now(console.height - 2)), refresh=True)
        return time.perf_counter() - since

    def _finish(self, console: Console) -> None:
        try:
            self._hide()
            last = _text(self.progress.last())
            if last:
                console.print(last)
        except OSError:
            pass

    def _hide(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _text(rows: Iterable[Row]) -> Text:
    """Rows as rich draws them, each cut to the width of the terminal."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ellipsis", end="")
    for row in rows:
        for piece, style in row:
            text.append(piece, style)
        text.append("\n")
    return text


def _terminal() -> Console | None:
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)
